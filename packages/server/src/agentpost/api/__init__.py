"""The HTTP API: one file per resource, each read top-down: shapes, handlers, operations."""
