"""The version of the server."""

__version__ = "0.3.0"
