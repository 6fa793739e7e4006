"""Which addresses a host name leads to, and whether all of them may be called.

A name is looked up at the moment it is dialed, and exactly what was checked is connected to: so one
that changes its address between a check and a connection (DNS rebinding) gains nothing.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from agentpost.daemon_threads import DaemonThreadExecutor
from agentpost.egress.addresses import AllowList, DenyList, is_public
from agentpost.egress.errors import DENIED, NOT_PUBLIC, EgressRefused, FetchFailed

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""Name to IP addresses in text form; raises `OSError` when there are none."""

# Enough that hosts whose name server is silent do not keep the others waiting for a thread: each
# holds one, for as long as the system's resolver has patience.
_LOOKUP_THREADS = 512


class SystemLookup:
    """The operating system's resolver, in threads of its own: a name server that does not answer
    must not hold up whoever else uses the event loop's threads, nor the end of the process. Who
    asks for a name while it is being looked up waits for the same answer."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[list[str]]] = {}
        self._threads = DaemonThreadExecutor("egress-lookup", _LOOKUP_THREADS)

    async def __call__(self, host: str) -> Sequence[str]:
        running = self._running.get(host)
        if running is None:
            running = self._running[host] = asyncio.create_task(
                self._threads.run(_getaddrinfo, host)
            )
            running.add_done_callback(lambda task: self._looked_up(host, task))
        texts = await asyncio.shield(running)  # who gives up does not give up for the others
        return list(dict.fromkeys(texts))

    def _looked_up(self, host: str, task: asyncio.Task[list[str]]) -> None:
        self._running.pop(host)
        if not task.cancelled():
            task.exception()  # seen, also when everybody who asked has given up

    def close(self) -> None:
        """Questions on their way are not waited for."""
        for running in list(self._running.values()):
            running.cancel()


def _getaddrinfo(host: str) -> list[str]:
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(sockaddr[0]) for *_, sockaddr in infos]


class CheckedNames:
    """Answers with the addresses of a name if *all* of them may be called. One bad address among
    good ones refuses the name: no honest name mixes them."""

    def __init__(self, allow: AllowList, deny: DenyList, lookup: Lookup) -> None:
        self._allow = allow
        self._deny = deny
        self._lookup = lookup

    async def addresses(self, host: str, port: int) -> list[IPv4Address | IPv6Address]:
        """What to dial; raises `EgressRefused`, or `FetchFailed` for an unknown name."""
        try:
            addresses = [ip_address(text) for text in await self._lookup(host)]
        except (OSError, RuntimeError) as error:  # the latter when there are no more threads
            raise FetchFailed(NOT_PUBLIC) from error
        if not addresses:
            raise FetchFailed(NOT_PUBLIC)
        if not self._allow.has_host(host, port):
            for address in addresses:
                if not is_public(address) and not self._allow.has_address(address, port):
                    raise EgressRefused(NOT_PUBLIC)
        for address in addresses:
            if self._deny.has_address(address):
                # Of an address inside nothing is said, not even that it is denied.
                raise EgressRefused(DENIED if is_public(address) else NOT_PUBLIC)
        return addresses
