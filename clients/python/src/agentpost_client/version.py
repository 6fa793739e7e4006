"""The version of this package. It has numbers of its own: a client works with servers of other
versions, since the API only grows within /v1.
"""

__version__ = "0.3.0"
