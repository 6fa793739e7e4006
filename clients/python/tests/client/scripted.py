"""Servers that answer by a script: inside the process, or on a real port."""

import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from operator import attrgetter
from typing import Any

import httpx2
import uvicorn
from starlette.types import ASGIApp

from agentpost_client import AsyncClient, Client, Pages, RetryPolicy

URL = "http://server.test"
KEY = "svc_key_secret"
TLS_BEGINNING = b"\x16"
Scripted = httpx2.Response | httpx2.RequestError


def answer(body: Any, status: int = 200, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, json=body, headers=named)


def refusal(status: int, code: str, **extra: Any) -> httpx2.Response:
    body = {"error": code, "message": f"About {code}.", "request_id": "req_1", "docs": "", **extra}
    return answer(body, status, Request_Id="req_1")


def message(status: str = "completed", final: bool = True, **fields: Any) -> dict[str, Any]:
    return {"id": "msg_1", "object": "message", "status": status, "final": final, **fields}


def page(*seqs: int, cursor: str = "c", **fields: Any) -> dict[str, Any]:
    entries = [{"seq": seq, "type": "progress", "step": f"step {seq}"} for seq in seqs]
    return {"object": "list", "data": entries, "cursor": cursor, **fields}


class Talk:
    """One client, sync or async, against scripted answers; time passes only when told.

    `asked` has the requests, `pauses` the seconds the client wanted to sleep. Jitter is at its
    most (1). An answer takes `answer_seconds` of the client's clock. Unless it `has_streams`, the
    server is one without event streams, and that it says so is not part of the script.
    """

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async
        self.script: list[Scripted] = []
        self.asked: list[httpx2.Request] = []
        self.pauses: list[float] = []
        self.answer_seconds = 30.0
        self.has_streams = False
        self.now = 0.0
        self.policy = RetryPolicy(jitter=lambda: 1.0)

    async def __call__(self, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """The method's value, of an iterator the list; the script must be used up."""
        result = await (self._async if self.is_async else self._sync)(method, args, kwargs)
        assert not self.script, "the client asked less than the script expects"
        return result

    async def each(
        self, seen: Callable[[Any], object], method: str, *args: Any, **kwargs: Any
    ) -> None:
        """Call ``seen`` with each item of what has no end."""

        def all_of(client: Client) -> None:
            for item in attrgetter(method)(client)(*args, **kwargs):
                seen(item)

        async def all_of_async(client: AsyncClient) -> None:
            async for item in attrgetter(method)(client)(*args, **kwargs):
                seen(item)

        await self._with_client(all_of, all_of_async)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.asked]

    @property
    def paths(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.asked]

    async def _async(self, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        async def call(client: AsyncClient) -> Any:
            result = attrgetter(method)(client)(*args, **kwargs)
            if hasattr(result, "__aiter__"):
                return [item async for item in result]
            return await result

        return await self._with_client(None, call)

    async def _sync(self, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        def call(client: Client) -> Any:
            result = attrgetter(method)(client)(*args, **kwargs)
            return list(result) if isinstance(result, Iterator | Pages) else result

        return await self._with_client(call, None)

    async def _with_client(
        self,
        use: Callable[[Client], Any] | None,
        use_async: Callable[[AsyncClient], Awaitable[Any]] | None,
    ) -> Any:
        """What the function for this kind of client gives."""

        async def sleep(seconds: float) -> None:
            self._sleep(seconds)

        transport = httpx2.MockTransport(self._answer)
        options: dict[str, Any] = {"policy": self.policy, "clock": self._clock}
        if self.is_async:
            assert use_async is not None
            async with httpx2.AsyncClient(transport=transport) as async_http:
                return await use_async(
                    AsyncClient(URL, KEY, http_client=async_http, sleep=sleep, **options)
                )
        assert use is not None
        with httpx2.Client(transport=transport) as http:
            return use(Client(URL, KEY, http_client=http, sleep=self._sleep, **options))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/stream") and not self.has_streams:
            return refusal(404, "not_found")
        self.asked.append(request)
        self.now += self.answer_seconds
        assert self.script, f"nothing is scripted for {request.method} {request.url}"
        scripted = self.script.pop(0)
        if isinstance(scripted, httpx2.RequestError):
            raise scripted
        # A response object can be read once; scripts are shared by parameterised tests.
        return httpx2.Response(
            scripted.status_code, headers=scripted.headers, content=scripted.content
        )

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def _clock(self) -> float:
        return self.now


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve an app on a free local port; gives the address. It accepts from the first moment."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", lifespan="off", proxy_headers=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """An answer as it goes over the wire, the last one of its connection."""
    own = {"content-LENGTH": len(body), "Connection": "close"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in {**own, **named}.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


class Wire:
    """A server on a real port that sends the bytes of its script, one answer on each connection,
    which it closes then; after None it stays silent. `asked` has the heads of what came."""

    def __init__(self) -> None:
        self.script: list[bytes | None] = []
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._silent: list[socket.socket] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection.makefile("rb") as stream:
                is_plain = stream.peek(1)[:1] != TLS_BEGINNING
                lines = list(takewhile(lambda line: line.strip(), stream)) if is_plain else []
                if lines == [b"end"]:
                    return
                self.asked.append(b"".join(lines).decode("latin-1"))
                heads = [line.lower().partition(b"content-length:") for line in lines]
                stream.read(sum(int(value) for _, found, value in heads if found))
            given = self.script.pop(0)
            if given is None:
                self._silent.append(connection)
                continue
            connection.sendall(given)
            connection.close()

    def hang_up(self) -> None:
        """End the connections that were silent."""
        for each in self._silent:
            each.close()

    def close(self) -> None:
        self.hang_up()
        with socket.create_connection(self._listener.getsockname()) as connection:
            connection.sendall(b"end")
        self._thread.join()
        self._listener.close()
