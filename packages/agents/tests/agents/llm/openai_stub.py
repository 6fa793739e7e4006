"""A service with the protocol of OpenAI that answers what a test says, in the provider's shapes."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
USAGE = {
    "prompt_tokens": 11,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens": 7,
    "total_tokens": 18,
}


@dataclass(frozen=True)
class Says:
    """A text, in the pieces in which it is streamed; ``between`` is called behind each of them.

    ``finish`` is the reason of its end; None: the stream ends without one.
    """

    pieces: Sequence[str]
    between: Callable[[int], None] = lambda _: None
    breaks_off: bool = False
    finish: str | None = "stop"


@dataclass(frozen=True)
class Calls:
    """Calls of tools, at once: a name and the arguments as JSON, which may be broken.

    ``ids`` are those of the calls, where a test sets them.
    """

    calls: Sequence[tuple[str, str]]
    ids: Sequence[str] = ()


@dataclass(frozen=True)
class Refuses:
    text: str


@dataclass(frozen=True)
class Fails:
    """An answer that is an error."""

    status: int
    code: str | None = None
    message: str = "no"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hangs:
    """No answer until the stub ends."""


Reply = Says | Calls | Refuses | Fails | Hangs
CONTEXT_OVERFLOW = Fails(
    400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."
)


class OpenAIStub(ThreadingHTTPServer):
    """``answer`` decides about each request, which ``requests`` keeps."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[Request] = []
        self.keys: list[str] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def tell(self, *replies: Reply) -> None:
        """Answer the next requests with these, in turn."""
        left = iter(replies)
        self.requests.clear()
        self.answer = lambda _: next(left)


@contextmanager
def openai_stub(
    answer: Callable[[Request], Reply] = lambda _: Says(["Hello."]),
) -> Iterator[OpenAIStub]:
    """A stub that listens on a free port."""
    with OpenAIStub(answer) as stub:
        thread = threading.Thread(target=stub.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield stub
        stub.over.set()
        stub.shutdown()
        thread.join()


def instructions_of(request: Request) -> str:
    """The instructions of a request."""
    return "\n".join(m["content"] for m in request["messages"] if m["role"] == "system")


def users_and_results(request: Request) -> tuple[list[str], list[str]]:
    """What the user said, and the results of tools since the last of it."""
    users: list[str] = []
    results: list[str] = []
    for message in request["messages"]:
        if message["role"] == "user":
            users.append(message["content"])
            results = []
        elif message["role"] == "tool":
            results.append(message["content"])
    return users, results


class _Handler(BaseHTTPRequestHandler):
    server: OpenAIStub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.server.keys.append(self.headers["Authorization"])
        reply = _rejected(request) or self.server.answer(request)
        with suppress(OSError):  # nobody listens any more
            if isinstance(reply, Hangs):
                self.server.over.wait()
            elif isinstance(reply, Fails):
                error = {"message": reply.message, "type": "invalid_request_error"}
                body = {"error": {**error, "param": None, "code": reply.code}}
                self._send(reply.status, body, reply.headers)
            elif request.get("stream"):
                self._stream(request, reply)
            else:
                self._send(200, _whole(request, reply), {})

    def _send(self, status: int, body: dict[str, Any], headers: dict[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, request: Request, reply: Says | Calls | Refuses) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        head = {**_head(request), "object": "chat.completion.chunk"}

        def event(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self._event({**head, "choices": [choice]})

        event({"role": "assistant", "content": None})
        if isinstance(reply, Says):
            for n, piece in enumerate(reply.pieces):
                event({"content": piece})
                reply.between(n)
            if reply.breaks_off:
                error = {"message": "The server had an error.", "type": "server_error"}
                self._event({"error": {**error, "code": "server_error", "param": None}})
                return
        elif isinstance(reply, Refuses):
            event({"refusal": reply.text})
        else:
            for call in _calls(request, reply, streamed=True):
                event({"tool_calls": [call]})
        event({}, _finish(reply))
        self._event({**head, "choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()


def _rejected(request: Request) -> Fails | None:
    """What strict services answer: a chat template takes one system message, at the beginning, and
    a name of a tool has few characters."""
    systems = [n for n, m in enumerate(request["messages"]) if m["role"] in ("system", "developer")]
    if systems not in ([], [0]):
        return Fails(400, message="System message must be at the beginning.")
    names = [tool["function"]["name"] for tool in request.get("tools", ())]
    if len(set(names)) < len(names) or not all(map(_TOOL_NAME.fullmatch, names)):
        return Fails(400, message=f"Invalid 'tools': {names}")
    return None


def _finish(reply: Says | Calls | Refuses) -> str | None:
    if isinstance(reply, Calls):
        return "tool_calls"
    return reply.finish if isinstance(reply, Says) else "stop"


def _head(request: Request) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 1_790_000_000, "model": request["model"]}


def _calls(request: Request, reply: Calls, *, streamed: bool = False) -> list[dict[str, Any]]:
    number = len(request["messages"])
    return [
        {
            **({"index": n} if streamed else {}),
            "id": reply.ids[n] if reply.ids else f"call_{number}_{n}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for n, (name, arguments) in enumerate(reply.calls)
    ]


def _whole(request: Request, reply: Says | Calls | Refuses) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if isinstance(reply, Says):
        message["content"] = "".join(reply.pieces)
    elif isinstance(reply, Refuses):
        message["refusal"] = reply.text
    else:
        message["tool_calls"] = _calls(request, reply)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    return {
        **_head(request), "object": "chat.completion", "choices": [choice], "usage": USAGE
    }  # fmt: skip
