"""Starting a server: `serve`, `dev` and `new`."""
