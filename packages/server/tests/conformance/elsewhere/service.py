"""A service that is an agent: it answers each signed POST with lines of JSON."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from standardwebhooks import Webhook

from agentpost.webhooks.signing import new_secret
from tests.e2e.server import AgentServer

SECRET = new_secret()
Op = dict[str, Any]


def leave(server: AgentServer, trace: str) -> None:
    with server.trace_file.open("a") as file:
        file.write(f"{trace}\n")


def pass_gate(server: AgentServer, name: str) -> None:
    (server.gates / f"{name}.reached").touch()
    while not (server.gates / name).exists():
        time.sleep(0.02)


class Service(ThreadingHTTPServer):
    """Listens on a free port; ``server`` is where traces and gates are."""

    daemon_threads = True
    server: AgentServer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/agent"

    def leave(self, trace: str) -> None:
        leave(self.server, trace)

    def pass_gate(self, name: str) -> None:
        pass_gate(self.server, name)


class Handler(BaseHTTPRequestHandler):
    server: Service
    plans: ClassVar[dict[str, list[str]]] = {
        "draw": ["draw"],
        "order": ["think", "reserve", "pay"],
        "wait": ["wait"],
        "hang": ["hang"],
        "fail": ["fail"],
    }

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Webhook(SECRET).verify(body, dict(self.headers))  # raises when it is not ours
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        asked = json.loads(body)
        assert asked["v"] == 1
        with suppress(OSError):  # nobody listens any more
            self.turn(asked) if asked["op"] == "turn" else self.job(asked)

    def say(self, op: str, **fields: Any) -> None:
        self.wfile.write(json.dumps({"op": op, **fields}).encode() + b"\n")
        self.wfile.flush()

    def turn(self, asked: Op) -> None:
        turn = asked["turn"]
        text = turn["message"]["text"]
        if turn["running"] and asked["data"] is None:
            self.say("join", job_id=turn["running"][0]["job_id"])
            return
        users = [*turn["state"].get("users", []), text]
        self.say("state", value={"users": users})
        said = f"You said: {' | '.join(users)}. Found: nothing."
        word = text.partition(" ")[0]
        if word in self.plans:
            self.say("start", job=word, title=text, args={"text": text})
        elif word == "ask":
            self.say("ask", question="Which colour?")
        else:
            self.say("delta", text=said[:8])
            if word == "slowly":
                self.server.pass_gate("http.slowly")
            self.say("delta", text=said[8:])
            self.say("reply", text=said)

    def job(self, asked: Op) -> None:
        """One piece of the plan for each request; ``data`` is what was found so far."""
        text, found = asked["args"]["text"], asked["data"] or []
        plan = self.plans[asked["name"]]
        if len(found) < len(plan):
            found = [*found, self.tool(plan[len(found)])]
            self.say("again", data=found)
            return
        users = [text, *(said["text"] for said in asked["inbox"])]
        found = [each for each in found if each]
        self.say("end", text=f"You said: {' | '.join(users)}. Found: {', '.join(found)}.")

    def tool(self, name: str) -> str:
        key = self.headers["webhook-id"]
        if name == "draw":
            self.say("progress", text="Drawing chart.txt")
            self.say("write", path="chart.txt", text="|||")
            return "drawn"
        if name == "think":
            for n in range(3):
                self.server.leave(f"http.model.order.{n}")
            return ""
        if name == "reserve":
            self.server.leave("tool.reserve")
            return "reserved"
        if name == "pay":
            self.server.leave(f"tool.pay.http.pay {key}")
            self.server.pass_gate("http.pay")
            return "paid"
        if name == "fail":
            self.say("fail", text="The order book is closed.")
            return ""
        if name == "hang":
            self.hang()
        self.server.pass_gate(f"http.{name}")
        return "waited"

    def hang(self) -> None:
        """Until nobody listens any more: empty lines mean nothing."""
        (self.server.server.gates / "http.hang.reached").touch()
        try:
            while True:
                self.wfile.write(b"\n")
                time.sleep(0.02)
        except OSError:
            self.server.leave("cancelled.http.hang")
            raise


@contextmanager
def serving() -> Iterator[Service]:
    """The service, in a thread."""
    with Service(("127.0.0.1", 0), Handler) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        yield service
        service.shutdown()
