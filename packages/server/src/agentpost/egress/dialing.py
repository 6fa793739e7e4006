"""A connection to where a URL leads: the addresses of its name are checked and then dialed."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import TypeVar

import aiohappyeyeballs
from aiohappyeyeballs import AddrInfoType

from agentpost.egress.errors import (
    BAD_CERTIFICATE,
    NO_CONNECTION,
    NO_TLS,
    FetchFailed,
)
from agentpost.egress.names import CheckedNames
from agentpost.egress.urls import Url

P = TypeVar("P", bound=asyncio.BaseProtocol)

KEEPALIVE_SECONDS = 4.0
"""How long a connection is kept without a request: below the 5 s after which common servers hang
up, so that we rarely write to a closed one."""
_NEXT_ADDRESS_SECONDS = 0.25
"""When the next address is tried beside one that does not answer (RFC 8305, section 5)."""


async def dial(
    url: Url,
    names: CheckedNames,
    tls: ssl.SSLContext | None,
    protocol: Callable[[], P],
    until: float,
) -> P:
    """Connect, with TLS if ``tls`` is given. Raises `EgressRefused`, `FetchFailed`, `TimeoutError`.

    ``until``: the deadline by the loop's clock, which may be infinite. The caller cancels at it;
    this looks once more, since the library that races the addresses may swallow that.
    """
    addresses = [url.ip] if url.ip is not None else await names.addresses(url.host, url.port)
    infos: list[AddrInfoType] = []
    for address in addresses:
        infos += _numeric(str(address), url.port)
    loop = asyncio.get_running_loop()
    try:
        sock = await aiohappyeyeballs.start_connection(
            infos, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, interleave=1
        )
        if loop.time() >= until:
            sock.close()
            raise TimeoutError
        host = url.host if tls else None
        _, connection = await loop.create_connection(
            protocol, sock=sock, ssl=tls, server_hostname=host
        )
    except ssl.SSLCertVerificationError as error:
        raise FetchFailed(BAD_CERTIFICATE) from error
    except ssl.SSLError as error:
        raise FetchFailed(NO_TLS) from error
    except TimeoutError:
        if loop.time() >= until:
            raise
        raise FetchFailed(NO_CONNECTION) from None  # the system's own patience
    except (OSError, RuntimeError) as error:  # uvloop may raise the latter for the former
        raise FetchFailed(NO_CONNECTION) from error
    return connection


def _numeric(address: str, port: int) -> Sequence[AddrInfoType]:
    """The form in which sockets take an address; asks nobody."""
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=flags)
