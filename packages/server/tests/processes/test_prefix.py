"""Workers that a command prefix starts: what the setting may be, how files pass, and what is left
when one is ended. What a step may do then: `tests/e2e/test_command_prefix.py`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentpost.agents.deaths import NoWorker, WorkerDied
from agentpost.agents.files import File
from agentpost.operations import step_places
from agentpost.processes.pool import WorkerPool
from agentpost.processes.prefix import CommandPrefix, Place
from agentpost.settings import load_settings
from tests.processes.watching import gone, number
from tests.waiting import eventually_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the setting needs Linux")

STEPS = """
import os, socket, subprocess, sys, time
from pathlib import Path

def pid(): return os.getpid()
def first(file): return file.local.read_text()
def made():
    made = Path(os.environ["TMPDIR"], "made")
    made.write_text("made")
    return made

def hang(note):
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(note + ".new").write_text(str(child.pid))
    os.rename(note + ".new", note)
    time.sleep(600)

def garble(data):
    for name in os.listdir("/proc/self/fd"):
        try:
            socket.socket(fileno=os.dup(int(name))).sendall(bytes(data))
        except OSError:
            pass
    time.sleep(600)
"""


def prefix(*words: str) -> CommandPrefix:
    parsed = CommandPrefix.parse(words)
    assert parsed is not None
    return parsed


def test_what_the_setting_may_be(tmp_path: Path) -> None:
    assert CommandPrefix.parse([]) is None
    with pytest.raises(ValueError, match="COMMAND_PREFIX: there is no program 'no-such-box' to ru"):
        CommandPrefix.parse(["no-such-box", "--"])
    words = prefix("env", "-v{folder}:{folder}", "-u{worker}").command_for(tmp_path, 3)
    assert words == ["env", f"-v{tmp_path}:{tmp_path}", "-u3"]


@pytest.mark.parametrize("name", ["step_user", "step_command", "step_folder"])
def test_the_settings_before_name_their_successor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agentpost.toml").write_text(f'{name} = "x"\n')
    with pytest.raises(ValueError, match=f"no setting {name} any more: worker_command_prefix has"):
        load_settings()
    (tmp_path / "agentpost.toml").unlink()
    monkeypatch.setenv(f"AGENTPOST_{name}".upper(), "x")
    with pytest.raises(ValueError, match=f"no setting {name} any more: worker_command_prefix has"):
        load_settings()


def test_nothing_of_the_servers_home_is_passed(tmp_path: Path) -> None:
    place = Place.make(tmp_path, prefix("env"), 1)
    environ = {"USER": "root", "HOME": "/root", "XDG_CACHE_HOME": "/root/.cache", "LANG": "C"}
    own = str(place.own)
    assert place.environment(environ) == {"LANG": "C", "HOME": own, "TMPDIR": own}


def test_what_comes_back_is_a_file_of_the_process(tmp_path: Path) -> None:
    """Neither a link to what only the server can read, nor what it would wait for."""
    place, into = Place.make(tmp_path, prefix("env"), 1), tmp_path / "into"
    (tmp_path / "secret").write_text("the server's")
    result = place.own / "result"
    result.write_text("made")
    place.fetch("result", into)
    assert (into.read_text(), result.exists()) == ("made", False)
    into.unlink()
    makers: list[Callable[[], None]] = [
        lambda: result.symlink_to(tmp_path / "secret"),
        lambda: result.hardlink_to(tmp_path / "secret"),
        lambda: os.mkfifo(result),
        result.mkdir,
    ]
    for make in makers:
        make()
        with pytest.raises(OSError, match=r"symbolic links|not a new file"):
            place.fetch("result", into)
        assert not into.exists()
        if result.is_dir():
            result.rmdir()


@pytest.fixture
async def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WorkerPool]:
    """Workers that ``env`` starts: as any user may."""
    (tmp_path / "apart_steps.py").write_text(STEPS)
    monkeypatch.syspath_prepend(tmp_path)
    pool = WorkerPool(
        2, scratch=tmp_path / "s", seconds=60, cpu_seconds=60, prefix=prefix("env", "N={worker}")
    )
    await pool.start()
    yield pool
    await pool.aclose()


async def test_a_command_starts_workers(pool: WorkerPool, tmp_path: Path) -> None:
    async def call(name: str, *args: object, account: str = "a") -> object:
        return await pool.call(f"apart_steps:{name}", [*args], account=account, key="k")

    blob = tmp_path / "blob.txt"
    blob.write_text("given")
    file = File("f", "blob.txt", "text/plain", "text", 5, "r", "w", local_path=blob)
    assert await call("first", file) == "given"
    await pool.call("apart_steps:made", [], account="a", key="k", into=tmp_path / "into")
    assert (tmp_path / "into").read_text() == "made"
    first = await call("pid")
    assert await call("pid") == first, "an account keeps its process"
    assert await call("pid", account="b") != first, "and shares it with no other"
    note = tmp_path / "note"
    hanging = asyncio.create_task(call("hang", str(note), account="b"))
    await eventually_async(note.exists)
    hanging.cancel()
    await eventually_async(lambda: gone(number(note)))
    for garbage in (b"\xff\xff\xff\xff", b"\0\0\0\2{}"):
        with pytest.raises(WorkerDied):
            await call("garble", list(garbage), account="b")


async def test_a_command_that_ends_is_named(tmp_path: Path) -> None:
    command = prefix("sh", "-c", "echo no such image >&2; exit 3")
    pool = WorkerPool(1, scratch=tmp_path, seconds=60, cpu_seconds=60, prefix=command)
    with pytest.raises(NoWorker, match="sh ended with code 3; it says: no such image"):
        await pool.start()
    await pool.aclose()


async def test_a_command_that_keeps_nothing_from_steps_is_refused(tmp_path: Path) -> None:
    settings = load_settings(data_dir=str(tmp_path), worker_command_prefix=["env"])
    problem = await step_places.trouble(settings)
    assert problem is not None
    assert f"worker processes can read {tmp_path}, /proc/{os.getpid()}/environ" in problem
