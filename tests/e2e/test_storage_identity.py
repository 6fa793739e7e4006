"""The file storage belongs to the database: nodes with folders of their own do not start."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conformance.conftest import s3_endpoint, s3_url
from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.servers import Postgres

__all__ = ["s3_endpoint", "s3_url"]
Maker = Callable[..., AgentServer]
FILE = [{"name": "a.txt", "base64": "YWFh"}]


@pytest.fixture
def node(tmp_path: Path, fresh_postgres: Callable[..., str]) -> Iterator[Maker]:
    """`node(name, setting=value, …)`: one that is not started, with a data folder of its own.

    The databases are dropped after the nodes have stopped, which would wait for them else.
    """
    _ = fresh_postgres
    with ExitStack() as ends:

        def make(name: str, **settings: object) -> AgentServer:
            return ends.enter_context(AgentServer(tmp_path / name, **settings))

        yield make


def refusal_line(node: AgentServer) -> str:
    code, said = node.run("serve")
    assert code == 1
    [line] = [line for line in said.splitlines() if line.startswith("agentpost: ")]
    return line


def test_a_node_with_a_folder_of_its_own_does_not_start(
    node: Maker, postgres: Postgres, fresh_postgres: Callable[..., str]
) -> None:
    """Whatever its role. A folder may move; one that is replaced is adopted by the operator."""
    url = fresh_postgres(postgres.schema())
    first = node("first", database_url=url).start()
    second = node("second", database_url=url, role="worker")
    line = refusal_line(second)
    assert f"{second.home}/data/blobs is not the one that holds the files" in line
    assert "the same AGENTPOST_DATA_DIR" in line
    assert "AGENTPOST_STORAGE_URL" in line
    shutil.rmtree(second.home / "data")
    (second.home / "data").symlink_to(first.home / "data")
    second.start()
    Caller(first).send("hello", files=FILE)
    for each in (first, second):
        each.stop()
    third = node("third", database_url=url, role="api")
    assert "is not the one" in refusal_line(third), "there are files now that it does not have"
    moved = third.home / "data" / "blobs"
    shutil.rmtree(moved)
    shutil.copytree(first.home / "data" / "blobs", moved)
    shutil.rmtree(moved / "storage-id")
    third.start()
    third.stop()
    shutil.rmtree(moved)
    assert "agentpost db adopt-storage" in refusal_line(third)
    assert third.run("doctor")[0] == 1
    assert third.run("db", "adopt-storage")[0] == 0
    third.start()


def test_a_database_restored_beside_other_files(node: Maker) -> None:
    """With SQLite it is told and not refused: nobody else can be using the right ones. Folders of
    files that others may read are made private at the start."""
    first = node("first")
    blobs = first.home / "data" / "blobs"
    (blobs / "incoming" / "tmp").mkdir(parents=True)
    (blobs / "ab" / "cd").mkdir(parents=True)
    for folder in (blobs, *blobs.rglob("*")):
        folder.chmod(0o755)
    first.start()
    assert {oct(path.stat().st_mode & 0o777) for path in (blobs, *blobs.rglob("*"))} == {"0o700"}
    Caller(first).send("hello", files=FILE)
    assert first.run("backup", str(first.home / "backup"))[0] == 0
    first.stop()
    second = node("second").start()
    second.stop()
    [copy] = (first.home / "backup").glob("database-*.db")
    copy.replace(second.home / "data" / "agentpost.db")
    for companion in ("agentpost.db-wal", "agentpost.db-shm"):
        (second.home / "data" / companion).unlink(missing_ok=True)
    second.start()
    assert "storage_mismatch" in second.log_file.read_text()
    code, said = second.run("doctor")
    assert code == 1
    assert "Put back the folder of files" in said
    second.stop()
    shutil.rmtree(second.home / "data" / "blobs")
    shutil.copytree(first.home / "data" / "blobs", second.home / "data" / "blobs")
    second.start()
    assert second.run("doctor")[0] == 0


def test_a_wrong_bucket_is_named_and_the_right_one_taken_afterwards(
    node: Maker,
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
    s3_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A storage that refused at the first start has no claim on the database."""
    from moto import settings as s3_server

    url = fresh_postgres(postgres.schema())
    wrong_url = s3_url.replace(s3_url.split("/")[2], "no-such-bucket")
    line = refusal_line(node("wrong", database_url=url, storage_url=wrong_url))
    assert line.startswith("agentpost: the object store has no bucket 'no-such-bucket'")
    assert "AGENTPOST_STORAGE_URL" in line
    server = node("right", database_url=url, storage_url=s3_url)
    with monkeypatch.context() as patch:
        patch.setattr(s3_server, "INITIAL_NO_AUTH_ACTION_COUNT", 0)
        credentials = "refuses the credentials (InvalidAccessKeyId): correct AWS_ACCESS_KEY_ID"
        assert credentials in refusal_line(server)
        code, said = server.run("db", "adopt-storage")
        assert (code, len(said.splitlines()), credentials in said) == (1, 2, True), said
    server.start()
    Caller(server).send("hello", files=FILE)
    assert server.run("doctor")[0] == 0
