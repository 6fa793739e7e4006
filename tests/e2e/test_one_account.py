"""A transaction touches one account only, so that accounts can be spread over databases.

design: Accounts are independent. Two accounts do side by side what callers do, and the server
writes down what each of its transactions named and found. Looks for whatever is due find it in
every account; they are listed here.
"""

import json
import sqlite3
from contextlib import closing
from typing import Any

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import Receiver, ReceiverMaker
from tests.e2e.server import AgentServer

OF_ALL = {
    "webhooks.deliveries.due_endpoints": "finds the endpoints with something to send",
    "webhooks.deliveries.record_and_claim": "records answers of receivers, many at once",
    "requests.actions.": "the request log, which is written for many requests at once",
    "tasks.idle_polls.Resting.due": "looks for what is due on behalf of the sweeps named here",
    "nodes.ownership.differences": "finds turns and jobs that this node should run",
    "nodes.ownership.report": "says which of them do not go on",
    "nodes.upkeep.": "finds turns and jobs whose node is gone",
    "tasks.sweeps.": "finds deadlines that are over",
    "retention.actions.": "finds what is old enough to go",
    "blobs.actions.sweep": "finds bytes that nothing names",
    "operations.metrics.": "counts",
}
"""Beginnings of names. Each of them is as right for a part of the accounts as for all."""
NAMES_MIN = 40
"""Far fewer would mean that the transactions are not written down any more."""


class Played:
    """One account, and what it has under way."""

    def __init__(self, caller: Caller, receiver: Receiver, gate: str) -> None:
        self.caller = caller
        self.receiver = receiver
        self.gate = gate
        self.hooks = Hooks(caller)
        self.messages: list[Json] = []
        self.endpoint = self.hooks.create(receiver.url)
        self.schedule: Json = {}

    def begin(self) -> None:
        """Send messages of every kind; a job waits at the gate."""
        send = self.caller.send
        upload = self.json("POST", "/v1/uploads", filename="a.txt", size=4)
        form = {"data": upload["fields"], "files": {"file": b"text"}}
        self.caller.http.post(upload["url"], **form).raise_for_status()
        self.json("POST", f"/v1/uploads/{upload['upload_id']}/complete")
        steps = [["progress", "half"], ["charge", 0.5], ["step", "a"], ["write", "a.txt", "text"]]
        script = [["start", "Work", [*steps, ["return", "done"]]]]
        self.messages = [
            send("hello"),
            send([["read"]], conversation="files", upload_ids=[upload["upload_id"]]),
            send(script, conversation="done", key="once"),
            send([["start", "Held", [["gate", self.gate]]]], conversation="held"),
            send([["join"]], conversation="held"),
            send([["start", "Held", [["gate", self.gate]]]], conversation="stopped"),
            send([["stop"]], conversation="stopped"),
            send([["start", "Broken", [["broken_step"]]]], conversation="broken"),
            send([["start", "Question", [["ask", "Which?"]]]], conversation="question"),
        ]
        again = self.caller.post(script, conversation="done", key="once")
        assert again.json()["id"] == self.messages[2]["id"]
        self.schedule = self.json(
            "POST", "/v1/schedules", cron="0 0 1 1 *", message={"message": "hello"}
        )

    def end(self) -> None:
        """See all of it end; read, change and delete."""
        for message in self.messages:
            self.caller.final(message["id"])
            self.caller.log(message["id"])
        self.hooks.settled(self.endpoint, "delivered")
        endpoint = f"/v1/webhooks/{self.endpoint['id']}"
        self.receiver.status = 500
        self.json("POST", f"{endpoint}/test")
        self.receiver.status = 200
        self.json("POST", f"{endpoint}/rotate-secret")
        self.json("POST", f"{endpoint}/replay", since=self.messages[0]["created_at"])
        self.json("POST", f"/v1/messages/{self.messages[0]['id']}/cancel")
        works = [job["work_id"] for message in self.messages for job in message["jobs"]]
        for path in (
            *("me", "usage", "requests", "messages", "events", "work", "schedules", "webhooks"),
            *(f"work/{work}" for work in works),
            f"schedules/{self.schedule['id']}",
            f"webhooks/{self.endpoint['id']}/deliveries",
        ):
            self.json("GET", f"/v1/{path}")
        self.json("POST", f"/v1/work/{works[0]}/stop")
        self.json("PATCH", f"/v1/schedules/{self.schedule['id']}", paused=True)
        for path in (
            f"work/{works[0]}",
            f"messages/{self.messages[0]['id']}",
            f"schedules/{self.schedule['id']}",
            f"webhooks/{self.endpoint['id']}",
        ):
            self.json("DELETE", f"/v1/{path}")

    def json(self, method: str, path: str, **body: Any) -> Json:
        """An operation that is done."""
        given = {"json": body} if method in ("POST", "PATCH") else {}
        answer = self.caller.call(method, path, **given)
        assert answer.status_code < 300, answer.text
        found: Json = answer.json() if answer.content else {}
        return found


def test_a_transaction_touches_one_account(
    start_server: ServerMaker, receivers: ReceiverMaker
) -> None:
    settings = {"egress_allow": "127.0.0.1/32", "agent_processes": 0}  # the server imports it
    server = start_server(agent="tests.e2e.traced:agent", **settings)
    server.command("accounts", "create", "--email", "b@example.com", "--credits", "100")
    key = server.command("keys", "create", "--account", "b@example.com", "--name", "second")["key"]
    with closing(Caller(server)) as one, closing(Caller(server, key)) as other:
        played = [Played(one, receivers(), "held"), Played(other, receivers(), "held")]
        for each in played:
            each.begin()
        server.open_gate("held")
        owner = owners(server)  # some of it is deleted at the end
        for each in played:
            each.end()
    server.stop()
    owner |= owners(server)
    names = set()
    of_several = set()
    for line in (server.home / "transactions").read_text("utf-8").splitlines():
        name, values = json.loads(line)
        names.add(name)
        touched = {owner[value] for value in values if value in owner}
        if len(touched) > 1 and not name.startswith(tuple(OF_ALL)):
            of_several.add(name)
    assert len(names) >= NAMES_MIN, sorted(names)
    assert of_several == set()


def owners(server: AgentServer) -> dict[str, str]:
    """The account of each id that the database has."""
    found: dict[str, str] = {}
    with closing(sqlite3.connect(server.home / "data" / "agentpost.db")) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        for (table,) in tables:
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            if {"id", "account_id"} <= columns:
                found.update(connection.execute(f"SELECT id, account_id FROM {table}"))
            elif table == "accounts":
                found.update(connection.execute("SELECT id, id FROM accounts"))
    return found
