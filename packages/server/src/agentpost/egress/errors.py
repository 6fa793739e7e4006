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


class AddressRefused(OSError):
    """The name leads to an address that is neither public nor listed. An `OSError`, because that is
    what the connector takes from a resolver."""


class AddressDenied(AddressRefused):
    """The name leads to a public address that the operator denies."""


class EgressError(Exception):
    """Base of the errors below; ``str()`` is a short reason that continues "could not …: "."""


class EgressRefused(EgressError):
    """Not allowed to go there; trying again will not help."""


class FetchFailed(EgressError):
    """Tried, and it did not work."""


class FetchTooLarge(FetchFailed):
    """More bytes than asked for."""


def explain(error: BaseException) -> EgressError:
    """The error to raise for what the HTTP client, the resolver or TLS raised."""
    import aiohttp

    if isinstance(error, EgressError):
        return error
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        if isinstance(error.os_error, AddressDenied):
            return EgressRefused(DENIED)
        is_refused = isinstance(error.os_error, AddressRefused)
        return EgressRefused(NOT_PUBLIC) if is_refused else FetchFailed(NOT_PUBLIC)
    return FetchFailed(_text(error))


def _text(error: BaseException) -> str:
    import aiohttp

    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return BAD_CERTIFICATE
    if isinstance(error, aiohttp.ClientSSLError):
        return NO_TLS
    if isinstance(error, aiohttp.ClientConnectorError):
        return NO_CONNECTION
    if isinstance(error, aiohttp.ServerDisconnectedError | OSError):
        return HUNG_UP
    if isinstance(error, aiohttp.ClientPayloadError):
        return BROKE_OFF
    if isinstance(error, aiohttp.ClientResponseError):
        return NOT_HTTP
    return "the request failed"
