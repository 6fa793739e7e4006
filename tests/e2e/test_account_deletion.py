"""kill -9 in the middle of deleting an account, on both databases: from the first transaction on
nothing of it can be reached, and whoever continues deletes the rest, bytes too."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx2
import pytest

from tests import forking
from tests.account_data.test_deletion import OF_NO_ACCOUNT
from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.harness.databases import schema_url
from tests.schema import TABLES
from tests.waiting import eventually

__all__ = ["schema_url"]

HOUR = 3_600
MODULE = "agentpost.account_data.deletion"
ONE_BY_ONE = {f"{MODULE}._MESSAGES": 1, f"{MODULE}._WORKS": 1}
STOPS_AFTER_ONE = {**ONE_BY_ONE, f"{MODULE}._PAUSE_SECONDS": HOUR}
MESSAGES = 3


@pytest.fixture
def server(schema_url: str | None, tmp_path: Path) -> Iterator[AgentServer]:
    """A server whose task `delete_accounts` runs at the start only, for one message."""
    settings: dict[str, Any] = {"sweep_seconds": HOUR, "constants": ONE_BY_ONE}
    if schema_url is not None:
        settings["database_url"] = schema_url
    with AgentServer(tmp_path, **settings).start() as started:
        yield started


def used(caller: Caller) -> tuple[list[str], set[str]]:
    """Work that left files, sent and made: the links of what was made, and the ids of rows."""
    links, ids = [], set()
    for n in range(MESSAGES):
        sent = {"name": "sent.txt", "base64": base64.b64encode(b"sent").decode()}
        script = [["start", "Work", [["write", "made.txt", f"made {n}"]]]]
        message = caller.final(caller.send(script, files=[sent])["id"])
        links += [file["url"] for file in message["files"]]
        ids |= {message["id"], message["jobs"][0]["job_id"], message["jobs"][0]["work_id"]}
    return links, ids


def status(links: list[str]) -> set[int]:
    return {httpx2.get(link, timeout=60).status_code for link in links}


def blobs(server: AgentServer) -> set[str]:
    """The files of the storage."""
    folder = server.home / "data" / "blobs"
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.name for path in found if path.parent.name not in ("scratch", "tmp")}


def left(server: AgentServer, ids: set[str]) -> list[str]:
    """The tables with rows that name one of these."""
    named = []
    for table in TABLES.keys() - OF_NO_ACCOUNT.keys():
        rows = str(server.rows(f"SELECT * FROM {table}"))
        if any(each in rows for each in ids):
            named.append(table)
    return named


def test_killed_in_the_middle_nothing_is_reachable_and_the_rest_goes(server: AgentServer) -> None:
    with ExitStack() as until:
        keeps, goes = Caller(server), Caller(server, server.new_key("goes"))
        for each in (keeps, goes):
            until.callback(each.close)
        kept, kept_ids = used(keeps)
        before = blobs(server)
        gone, ids = used(goes)
        [row] = server.rows("SELECT id FROM accounts WHERE email = 'goes@example.com'")
        account = row["id"]
        assert status([*kept, *gone]) == {200}

        def messages() -> int:
            sql = f"SELECT COUNT(*) AS n FROM messages WHERE account_id = '{account}'"
            return int(server.rows(sql)[0]["n"])

        output = until.enter_context(TemporaryFile())
        deleting = forking.start(
            ["accounts", "delete", account, "--yes"],
            env=server._environment(),
            cwd=server.home,
            output=output,
            constants=STOPS_AFTER_ONE,
        )
        eventually(lambda: messages() < MESSAGES)
        deleting.kill()
        assert messages() == MESSAGES - 1, "it stands in the middle"
        assert len(blobs(server) - before) > 0
        eventually(lambda: goes.http.get("/v1/me").status_code == 401)
        assert status(gone) == {404}
        assert status(kept) == {200}

        server.restart()
        eventually(lambda: messages() < MESSAGES - 1, what="a server goes on with it")
        assert status(gone) == {404}
        server.command("accounts", "delete", account, "--yes")
        assert left(server, {account, *ids}) == []
        eventually(lambda: blobs(server) == before)
        assert status(gone) == {404}
        assert status(kept) == {200}
        assert left(server, kept_ids) != []
