"""Two versions on one database, as during a deployment: real servers of the code from before the
newest migration work on the new schema, beside servers of today's and after them (design:
Migrations).

The earlier code comes from the history of git. `make two-versions COMMIT=v0.2.0` takes that of any
commit, such as the last release.
"""

import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from agentpost.db import migrate
from tests.e2e.caller import Caller, Json
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import Receiver, receiving
from tests.e2e.server import ROOT, AgentServer
from tests.servers import Postgres
from tests.waiting import eventually

ARCHIVED = ("src", "clients/python/src", "tests/e2e", ":(glob)tests/*.py")
COMMIT = "TEST_EARLIER_COMMIT"
SETTINGS: dict[str, Any] = {"egress_allow": "127.0.0.1/32"}


def git(*arguments: str) -> bytes:
    """What git prints; skips the test where there is no history to ask."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed, so the earlier code cannot be had")
    if done.returncode != 0:
        pytest.skip(
            "the earlier code is not in the history that is here, which is a shallow clone or an"
            f" unpacked release (git {arguments[0]}: {done.stderr.decode().strip()})"
        )
    return done.stdout


def earlier_commit() -> str:
    """The last one whose code does not know the newest migration."""
    if given := os.environ.get(COMMIT):
        return git("rev-parse", "--verify", f"{given}^{{commit}}").decode().strip()
    if Path(git("rev-parse", "--show-toplevel").decode().strip()) != ROOT.resolve():
        pytest.skip("this folder is no checkout of its own: the history is another program's")
    [newest] = (migrate.MIGRATIONS / "versions").glob(f"{migrate.newest_revision()}_*.py")
    # Of a branch that was merged, the merge; what is not committed yet, nothing.
    log = ("log", "--first-parent", "--diff-filter=A", "--format=%H", "-1", "--", str(newest))
    added = git(*log).decode().strip()
    before = f"{added}^" if added else "HEAD"
    return git("rev-parse", "--verify", f"{before}^{{commit}}").decode().strip()


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the earlier code."""
    folder = tmp_path_factory.mktemp("earlier")
    archive = git("archive", "--format=tar", earlier_commit(), *ARCHIVED)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


class EarlierServer(AgentServer):
    """A server of the code in a folder, with the agent of its time."""

    def __init__(self, code: Path, home: Path, **settings: Any) -> None:
        super().__init__(home, **settings)
        self._code = code
        self.wrapped_by = ("env",)  # today's code has been imported where servers are forked

    def _environment(self) -> dict[str, str]:
        folders = (self._code / "src", self._code / "clients/python/src", self._code)
        return {**super()._environment(), "PYTHONPATH": os.pathsep.join(map(str, folders))}


@pytest.fixture
def servers(
    earlier: Path, tmp_path: Path, fresh_postgres: Callable[..., str]
) -> Iterator[Callable[..., AgentServer]]:
    """`servers("old" or "new", **settings)` makes one; all have the same data folder and gates.
    They stop before a database of `fresh_postgres` goes."""
    made: list[AgentServer] = []

    def server(version: str, **settings: Any) -> AgentServer:
        home = tmp_path / version
        given = {**SETTINGS, **settings}
        old = version == "old"
        made.append(EarlierServer(earlier, home, **given) if old else AgentServer(home, **given))
        if made[0] is not made[-1]:
            (home / "data").symlink_to(made[0].home / "data")
            made[-1].gates = made[0].gates
        return made[-1]

    yield server
    for each in made:
        if each.process is not None:
            each.stop()


def work(caller: Caller, name: str, conversation: str = "one") -> Json:
    """A message whose job waits at a gate of that name and then writes a file."""
    gate = ["step_gate", name, name]
    script = [["start", "Work", [gate, ["write", f"{name}.txt", name], ["return", "Done."]]]]
    message = caller.send(script, conversation=conversation)
    caller.server.await_gate(name)
    return message


def check(caller: Caller, message: Json, name: str) -> None:
    """This server shows the message as it ended, its log and its file."""
    found = caller.final(message["id"])
    assert (found["status"], [file["name"] for file in found["files"]]) == (
        "completed",
        [f"{name}.txt"],
    )
    assert caller.http.get(found["files"][0]["url"]).text == name
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


def test_both_at_once_take_up_each_other_s_work(
    servers: Callable[..., AgentServer],
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
) -> None:
    url = fresh_postgres(postgres.schema())
    new, old = (servers(version, database_url=url).start() for version in ("new", "old"))
    assert "schema_newer" in old.log_tail(), "it is of before the newest migration"
    with receiving() as receiver, ExitStack() as until:
        callers = {server: Caller(server) for server in (new, old)}
        for each in callers.values():
            until.callback(each.close)
        endpoint = Hooks(callers[old]).create(receiver.url)
        for begins, ends in ((new, old), (old, new)):
            name = "new" if begins is new else "old"
            message = work(callers[begins], name)
            assert callers[ends].get(message["id"])["status"] == "processing"
            begins.kill()
            begins.open_gate(name)
            check(callers[ends], message, name)
            delivered(Hooks(callers[ends]), endpoint, receiver, message)
            if begins is new:
                begins.start()
                check(callers[begins], message, name)


def test_back_to_the_version_before_and_forward_again(servers: Callable[..., AgentServer]) -> None:
    """With SQLite, where one process has the database."""
    turns = [("new", "first"), ("old", "second"), ("new", "third")]
    made = {version: servers(version) for version in ("new", "old")}
    sent: dict[str, Json] = {}
    with receiving() as receiver:
        endpoint: Json = {}
        for version, name in turns:
            server = made[version].start()
            assert version == "new" or "schema_newer" in server.log_tail()
            caller = Caller(server)
            endpoint = endpoint or Hooks(caller).create(receiver.url)
            sent[name] = work(caller, name)
            server.open_gate(name)
            for earlier_name, message in sent.items():
                check(caller, message, earlier_name)
                delivered(Hooks(caller), endpoint, receiver, message)
            caller.close()
            assert server.stop() == 0
