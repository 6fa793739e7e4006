"""A real HTTP server on this machine that behaves as badly as a test tells it to."""

import asyncio
import gzip
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache

OK = b"HTTP/1.1 200 OK\r\n"
DRIP = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
NOTHING_AND_MORE = b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
INTERIM = [b"", DRIP, CONTINUE, CONTINUE + DRIP * 7]
ENDLESS = OK + b"Content-Type: text/plain\r\n\r\n"
Answer = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@cache
def bomb() -> bytes:
    """Fifty megabytes, packed."""
    return gzip.compress(bytes(50_000_000))


@dataclass
class Request:
    """One request as it came in; ``number`` counts the requests of its connection from 1."""

    line: str
    headers: dict[str, str]
    body: bytes
    number: int


@dataclass
class Server:
    """Where it listens and what it saw."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    open: int = 0

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def entry(self) -> str:
        """For the allow list."""
        return f"127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(
    answer: Answer, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    """Listens until the end of the block; ``answer`` writes what it likes, then we keep alive."""
    server = Server()
    conversations: list[asyncio.Task[None]] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open += 1
        conversations.append(asyncio.create_task(talk(reader, writer)))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            number = 0
            while not writer.is_closing():
                number += 1
                request = await _read(reader, number)
                server.requests.append(request)
                await answer(request, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            server.open -= 1
            writer.close()

    listening = await asyncio.start_server(connected, host, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for conversation in conversations:
            conversation.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)


async def _read(reader: asyncio.StreamReader, number: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(head[0], headers, body, number)


def replies(
    body: bytes = b"", status: str = "200 OK", headers: dict[str, str] | None = None
) -> Answer:
    """An honest answer; a ``Content-Length`` among the headers replaces the true one."""
    lines = {"Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)
        await writer.drain()

    return answer


def says(raw: bytes) -> Answer:
    """These bytes and nothing more, then hangs up."""

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        writer.close()

    return answer


def breaks(answered: bytes, first: bytes = b"") -> Answer:
    """An honest answer with the body ``first``, then on the same connection these bytes and no
    more."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.number == 1:
            await replies(first)(request, writer)
        else:
            await says(answered)(request, writer)

    return answer


def resets_after(raw: bytes) -> Answer:
    """These bytes, and then the connection is reset instead of closed."""

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        await asyncio.sleep(0.1)  # a reset throws away what the other side has not read yet
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return answer


def drips(head: bytes, forever: bytes) -> Answer:
    """Some bytes at once, then single ones until the other side has enough."""

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(forever)
            await writer.drain()
            await asyncio.sleep(0.05)

    return answer


def floods(head: bytes, piece: bytes) -> Answer:
    """Some bytes at once, then as much as the other side takes."""

    async def answer(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return answer
