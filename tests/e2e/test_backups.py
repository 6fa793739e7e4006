"""`agentpost backup` and `restore` beside a running server, with kill -9 in the middle of each."""

import json
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import httpx2
import pytest

from tests import forking
from tests.cli.terminals import terminal
from tests.e2e.caller import Caller, Json
from tests.e2e.server import AgentServer
from tests.links import without_links
from tests.waiting import eventually

FILES = 12
ENDPOINT = {"url": "https://example.com/", "events": ["message.failed"]}
"""No message here fails: after a delivery in vain, whenever that is, the endpoint is another."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Each of the characters would cut a name off or change it, were it part of a URL."""
    return tmp_path / "a%20b?c=d#e%s ü&;'"


@pytest.fixture
def server(folder: Path) -> Iterator[AgentServer]:
    """One with a data folder of its own."""
    with AgentServer(folder / "first").start() as made:
        yield made


def killed(server: AgentServer, data: Path, blocked: Path, *arguments: str) -> None:
    """Run a command until it reads the blob ``blocked``, which hangs, and kill -9 it there."""
    kept = blocked.read_bytes()
    blocked.unlink()
    os.mkfifo(blocked)
    environment = {**server._environment(), "AGENTPOST_DATA_DIR": str(data)}
    try:
        with TemporaryFile() as output:
            process = forking.start(arguments, env=environment, cwd=server.home, output=output)
            eventually(lambda: has_reader(blocked), what="the command at the blob that hangs")
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait(60)
    finally:
        blocked.unlink()
        blocked.write_bytes(kept)
        blocked.chmod(0o600)


def killed_while_restoring(server: AgentServer, data: Path, place: Path, *options: str) -> None:
    """Kill -9 a restore between its first write and its last one; again, where it was faster."""
    environment = {**server._environment(), "AGENTPOST_DATA_DIR": str(data)}
    mark = data / "restore-unfinished"
    while not mark.exists():
        shutil.rmtree(data, ignore_errors=True)
        with TemporaryFile() as output:
            command = ("restore", str(place), *options)
            process = forking.start(command, env=environment, cwd=server.home, output=output)
            while not mark.exists() and process.poll() is None:
                pass
            process.send_signal(signal.SIGKILL)
            process.wait(60)


def has_reader(fifo: Path) -> bool:
    """Whether somebody waits to read it: only then it can be opened for writing at once."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def blobs_in(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and len(p.parent.name) == 2)


def answers(caller: Caller, message_id: str) -> Json:
    """What a client sees of a message, its files and the account."""
    message = caller.get(message_id)
    return {
        "message": without_links(message),
        "files": {file["name"]: httpx2.get(file["url"]).text for file in message["files"]},
        "log": without_links(caller.log(message_id)),
        "endpoints": caller.call("GET", "/v1/webhooks").json(),
        "work": without_links(caller.call("GET", "/v1/work").json()),
    }


def secret_key(data: Path) -> str:
    """The key that the server of this folder made."""
    with closing(sqlite3.connect(data / "agentpost.db")) as database:
        (row,) = database.execute("SELECT value FROM meta WHERE name = 'secret_key'")
    return str(row[0])


def secret_file(folder: Path, key: str) -> str:
    path = folder / "secret.key"
    path.write_text(f"{key}\n")
    return str(path)


def test_a_restored_server_answers_as_the_first(server: AgentServer, folder: Path) -> None:
    caller = Caller(server)
    writes = [["write", f"{n}.txt", f"text {n}"] for n in range(FILES)]
    sent = caller.send([["start", "Files", [*writes, ["return", "done"]]]])
    assert caller.final(sent["id"])["status"] == "completed"
    waiting = caller.send([["start", "Waits", [["gate", "later"], ["return", "ended"]]]])
    server.await_gate("later")
    endpoint = caller.call("POST", "/v1/webhooks", json=ENDPOINT)
    assert endpoint.status_code == 201, endpoint.text
    place, data = folder / "backups", server.home / "data"

    back_up(server, caller, place)
    code, printed = server.run("db", "secret-key", "--json")
    assert (code, json.loads(printed)) == (0, {"secret_keys": [secret_key(data)]})
    before = answers(caller, sent["id"])
    server.stop()

    restored = folder / "restored"
    restored.mkdir()
    key = secret_key(data)
    assert [p for p in place.rglob("*") if p.is_file() and key.encode() in p.read_bytes()] == []
    for options in ((), ("--secret-key-file", secret_file(folder, "another key"))):
        code, said = server.run("restore", str(place), *options, data=restored)
        assert (code, list(restored.iterdir())) == (1, [])
        assert "this backup does not hold its secret key" in said
    given = ("--secret-key-file", secret_file(folder, key))
    killed_while_restoring(server, restored, place, *given)
    code, said = server.run("serve", data=restored)
    assert code == 1
    assert "was cut off" in said
    code, said = server.run("restore", str(place), *given, data=restored)
    assert code == 0, said
    code, said = server.run("restore", str(place), *given, data=restored)
    assert code == 1
    assert "is not empty" in said

    second = AgentServer(folder / "second")
    second.port, second.url = server.port, server.url
    (second.home / "data").symlink_to(restored)
    second.start()
    try:
        again = Caller(second)
        assert answers(again, sent["id"]) == before
        second.open_gate("later")
        assert again.final(waiting["id"])["status"] == "completed"
        code, said = second.run("doctor", "--full")
        assert (code, "No problems found.\n" in said) == (0, True)
        code, said = second.run("restore", str(place), *given)
        assert code == 1
        assert "is in use by another agentpost server" in said
        asked = {"AGENTPOST_DATA_DIR": str(folder / "asked")}
        with terminal(asked, "restore", str(place)) as shown:
            shown.until("(agentpost db secret-key prints it): ")
            shown.type(f"{key}\n")
            shown.until("restored ")
            assert (shown.end(), key in shown.text) == (0, False)
        damage(blobs_in(restored / "blobs")[0])
        code, said = second.run("doctor", "--full")
        assert code == 1
        assert "its bytes are not those that were stored" in said
    finally:
        second.stop()
    assert [place.name for place in folder.parent.iterdir()] == [folder.name]


def back_up(server: AgentServer, caller: Caller, place: Path) -> None:
    """Once where there is no backup yet, and once where there is one: kill -9 leaves what was."""
    data = server.home / "data"
    killed(server, data, blobs_in(data / "blobs")[FILES // 2], "backup", str(place))
    code, output = server.run("backup", str(place), "--verify")
    assert (code, "there is no finished backup" in output) == (1, True)
    with sending(caller):
        code, output = server.run("backup", str(place))
    assert code == 0, output
    assert "Not in it: the secret key" in output
    killed(server, data, blobs_in(place / "blobs")[FILES // 2], "backup", str(place))
    code, output = server.run("backup", str(place), "--verify")
    assert (code, "is whole" in output) == (0, True), output


def damage(blob: Path) -> None:
    """Change a byte; its size stays."""
    data = blob.read_bytes()
    blob.write_bytes(bytes([data[0] ^ 1]) + data[1:])


@contextmanager
def sending(caller: Caller) -> Iterator[None]:
    """Messages are sent, one after the other, until the block ends."""
    ended = threading.Event()

    def send() -> None:
        while not ended.is_set():
            caller.send("hello")

    with ThreadPoolExecutor(1) as pool:
        sender = pool.submit(send)
        try:
            yield
        finally:
            ended.set()
        sender.result()
