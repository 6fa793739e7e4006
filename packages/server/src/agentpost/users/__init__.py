"""People who may sign in to the web app, and their roles."""
