"""Errors of outgoing requests, in words that may be shown to the user who gave the URL.

The texts name no address and nothing of the inner network. A name that does not exist and one that
leads inside read the same, or the texts would tell which names exist inside.
"""

DENIED = "the operator of this server does not allow its host"
NOT_PUBLIC = "its host was not found or is not public"
BAD_CERTIFICATE = "its TLS certificate is not valid"
NO_TLS = "no TLS connection could be made"
NO_CONNECTION = "no connection could be made"
HUNG_UP = "it closed the connection without an answer"
BROKE_OFF = "its answer broke off"
NOT_HTTP = "its answer is not valid HTTP"


class EgressError(Exception):
    """Base of the errors below; ``str()`` is a short reason that continues "could not …: "."""


class EgressRefused(EgressError):
    """Not allowed to go there; trying again will not help."""


class FetchFailed(EgressError):
    """Tried, and it did not work."""


class FetchTooLarge(FetchFailed):
    """More bytes than asked for."""
