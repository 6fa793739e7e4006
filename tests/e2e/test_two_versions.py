"""Two versions on one database, as during a deployment: a made-up second version of the schema is
rolled out while servers of today serve (design: Migrations)."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentpost.db import migrate
from tests.db.test_expanding import SECOND_VERSION
from tests.e2e.caller import Caller, Json
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import Receiver, receiving
from tests.e2e.server import AgentServer
from tests.servers import Postgres
from tests.waiting import eventually

SETTINGS: dict[str, Any] = {"egress_allow": "127.0.0.1/32"}


@pytest.fixture
def servers(
    tmp_path: Path, fresh_postgres: Callable[..., str]
) -> Iterator[Callable[..., AgentServer]]:
    """`servers("old" or "new", **settings)` makes one; all have the same data folder and gates.
    They stop before a database of `fresh_postgres` goes."""
    migrations = tmp_path / "migrations"
    shutil.copytree(migrate.MIGRATIONS, migrations)
    shutil.copyfile(SECOND_VERSION, migrations / f"{migrate.newest_version() + 1:04}_made_up.sql")
    constants = {"old": {}, "new": {"agentpost.db.migrate.MIGRATIONS": str(migrations)}}
    all_servers: list[AgentServer] = []

    def server(version: str, **settings: Any) -> AgentServer:
        home = tmp_path / version
        one = AgentServer(home, constants=constants[version], **SETTINGS, **settings)
        if all_servers:
            (home / "data").symlink_to(all_servers[0].home / "data")
            one.gates = all_servers[0].gates
        all_servers.append(one)
        return one

    yield server
    for each in all_servers:
        with each:
            pass


def schema_version(server: AgentServer) -> int:
    [row] = server.rows("SELECT version FROM agentpost_schema")
    return int(row["version"])


def work(caller: Caller, name: str, conversation: str = "one") -> Json:
    """A message whose job waits at a gate of that name and then writes a file."""
    gate = ["step_gate", name, name]
    script = [["start", "Work", [gate, ["write", f"{name}.txt", name], ["return", "Done."]]]]
    message = caller.send(script, conversation=conversation)
    caller.server.await_gate(name)
    return message


def check(caller: Caller, message: Json, name: str) -> None:
    """This server shows the message as it ended, its log and its file."""
    final = caller.final(message["id"])
    assert (final["status"], [file["name"] for file in final["files"]]) == (
        "completed",
        [f"{name}.txt"],
    )
    assert caller.http.get(final["files"][0]["url"]).text == name
    assert caller.log(message["id"])[-1]["type"] == "result"


def delivered(hooks: Hooks, endpoint: Json, receiver: Receiver, message: Json) -> None:
    """The end of the message came, signed, and this server knows it."""

    def ends() -> list[Json]:
        events = receiver.events(endpoint["secret"])
        return [each for each in events if each["data"].get("id") == message["id"]]

    [event] = eventually(ends, what="the webhook")
    assert event["type"] == "message.completed"
    eventually(
        lambda: any(
            (each["message_id"], each["status"]) == (message["id"], "delivered")
            for each in hooks.deliveries(endpoint)
        )
    )


def test_a_second_version_is_rolled_out_while_the_first_serves(
    servers: Callable[..., AgentServer],
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
) -> None:
    """The new server upgrades the database below the old one, then each takes up the other's
    work after kill -9, also on an old server that starts on the new schema."""
    url = fresh_postgres(postgres.schema())
    old, new = (servers(version, database_url=url) for version in ("old", "new"))
    with receiving() as receiver, ExitStack() as until:
        old.start()
        callers = {server: Caller(server) for server in (old, new)}
        for each in callers.values():
            until.callback(each.close)
        endpoint = Hooks(callers[old]).create(receiver.url)
        before = work(callers[old], "before")
        new.start()
        assert schema_version(old) == migrate.newest_version() + 1
        old.open_gate("before")
        check(callers[old], before, "before")
        for begins, ends, name in ((old, new, "old"), (new, old, "new")):
            message = work(callers[begins], name)
            assert callers[ends].get(message["id"])["status"] == "processing"
            begins.kill()
            begins.open_gate(name)
            check(callers[ends], message, name)
            delivered(Hooks(callers[ends]), endpoint, receiver, message)
            if begins is old:
                old.start()
                assert "schema_newer" in old.log_tail()
                check(callers[old], message, name)


def test_back_to_the_version_before_and_forward_again(servers: Callable[..., AgentServer]) -> None:
    """With SQLite, where one process has the database."""
    turns = [("old", "first"), ("new", "second"), ("old", "third"), ("new", "fourth")]
    by_version = {version: servers(version) for version in ("old", "new")}
    sent: dict[str, Json] = {}
    with receiving() as receiver:
        endpoint: Json = {}
        for version, name in turns:
            server = by_version[version].start()
            caller = Caller(server)
            endpoint = endpoint or Hooks(caller).create(receiver.url)
            sent[name] = work(caller, name)
            server.open_gate(name)
            for earlier_name, message in sent.items():
                check(caller, message, earlier_name)
                delivered(Hooks(caller), endpoint, receiver, message)
            assert server.stop() == 0
    assert "schema_newer" in by_version["old"].log_tail()
    assert schema_version(by_version["old"]) == migrate.newest_version() + 1
