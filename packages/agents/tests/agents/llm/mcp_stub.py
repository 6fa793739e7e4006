"""An MCP server without libraries, so that it starts at once: as a program, or behind HTTP."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COUNT = {
    "name": "count",
    "description": "Count the letters of a word.",
    "inputSchema": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
}


NAMES: list[str] = json.loads(os.environ.get("TOOL_NAMES", '["count"]'))


class Died(Exception):
    """It ends while it works on this request."""


def result_of(request: dict[str, Any]) -> Any:
    """The result of a request; None when it has no such method."""
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{**COUNT, "name": name} for name in NAMES]}
    if method == "tools/call":
        word = params["arguments"]["word"]
        if word == "die":
            raise Died
        if word == "bad":
            return {"content": [{"type": "text", "text": "no such word"}], "isError": True}
        counted = f"{len(word)} letters"
        if params["name"] != "count":
            counted = f"{params['name']}: {counted}"
        return {"content": [{"type": "text", "text": counted}]}
    return {} if method == "ping" else None


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    result = result_of(request)
    if result is None:
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "id": request["id"], "error": error}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


class _Server(ThreadingHTTPServer):
    """``sessions``: only the newest one is known."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sessions = ["none"]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sessions = self.server.sessions
        if self.headers["X-Key"] != "secret":
            self._send(401, b"")
        elif request["method"] == "initialize":
            sessions.append(f"s{len(sessions)}")
            self._send(200, json.dumps(answer_to(request)).encode(), sessions[-1])
        elif self.headers["Mcp-Session-Id"] != sessions[-1]:
            self._send(404, b"")
        elif "id" not in request:
            self._send(202, b"")
        else:
            try:
                self._send(200, json.dumps(answer_to(request)).encode())
            except Died:
                sessions.append("of nobody")
                self._send(404, b"")

    def _send(self, status: int, body: bytes, session: str | None = None) -> None:
        self.send_response(status)
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def http_server() -> Iterator[str]:
    """Its address; requests need the header ``X-Key: secret``."""
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    if "PID_FILE" in os.environ:
        with Path(os.environ["PID_FILE"]).open("a") as file:
            print(os.getpid(), file=file)
    for line in sys.stdin:
        read = json.loads(line)
        if "id" in read:
            try:
                print(json.dumps(answer_to(read)), flush=True)
            except Died:
                os.kill(os.getpid(), signal.SIGKILL)
