"""Servers that answer by a script: one inside the process, one on a real port."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn
from starlette.types import ASGIApp

from agentpost_client import AsyncClient, Client, RetryPolicy

URL = "http://server.test"
KEY = "svc_key_secret"
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
    most (1). An answer takes `answer_seconds` of the client's clock.
    """

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async
        self.script: list[Scripted] = []
        self.asked: list[httpx2.Request] = []
        self.pauses: list[float] = []
        self.answer_seconds = 30.0
        self.now = 0.0
        self.policy = RetryPolicy(jitter=lambda: 1.0)

    async def __call__(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """The method's value, of an iterator the list; the script must be used up."""
        result = await (self._async if self.is_async else self._sync)(method, args, kwargs)
        assert not self.script, "the client asked less than the script expects"
        return result

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.asked]

    @property
    def paths(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.asked]

    async def _async(self, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        async def sleep(seconds: float) -> None:
            self._sleep(seconds)

        transport = httpx2.MockTransport(self._answer)
        async with AsyncClient(
            URL, KEY, policy=self.policy, transport=transport, sleep=sleep, clock=self._clock
        ) as client:
            result = getattr(client, method)(*args, **kwargs)
            if hasattr(result, "__aiter__"):
                return [item async for item in result]
            return await result

    async def _sync(self, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        transport = httpx2.MockTransport(self._answer)
        with Client(
            URL, KEY, policy=self.policy, transport=transport, sleep=self._sleep, clock=self._clock
        ) as client:
            result = getattr(client, method)(*args, **kwargs)
            return list(result) if isinstance(result, Iterator) else result

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
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
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
