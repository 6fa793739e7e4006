"""The door of programs written for OpenAI's API; its parts are packages, what they share lies here."""
