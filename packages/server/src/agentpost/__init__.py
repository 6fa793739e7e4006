"""agentpost: a self-hosted server that puts any agent behind one honest HTTP API."""

__version__ = "0.2.0"
