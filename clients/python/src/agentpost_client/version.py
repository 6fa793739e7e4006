"""The version of this package; `agentpost` of the same version is the server it was tested with."""

__version__ = "0.1.0"
