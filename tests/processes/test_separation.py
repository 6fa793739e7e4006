"""Workers under another user or started by a command: what the settings may be, how files pass, and
what is left when one is ended. Another user itself: `tests/e2e/test_step_user.py`."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.agents.deaths import NoWorker, WorkerDied
from agentpost.agents.files import File
from agentpost.processes import handing, separation
from agentpost.processes.pool import WorkerPool
from agentpost.processes.separation import Place, Separation, StepUser, parse_users
from agentpost.services import step_places
from agentpost.settings import load_settings
from tests.processes.watching import gone, number
from tests.waiting import eventually_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the settings need Linux")

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


def test_users_are_a_name_a_number_or_several() -> None:
    assert parse_users("65000") == (StepUser(65000, 65000),)
    assert [user.uid for user in parse_users("20000-20002")] == [20000, 20001, 20002]
    assert parse_users("nobody")[0].uid > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("no-such-user", "there is no user 'no-such-user' on this system: make one"),
        ("root", "root is root"),
        ("0", "0 is root"),
        ("20-10", "the first and the last"),
        ("0-10", "the first and the last"),
        ("1-2000", "at most 1000 numbers"),
    ],
)
def test_users_that_cannot_be(given: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"AGENTPOST_STEP_USER: .*{said}"):
        parse_users(given)


def test_a_server_without_rights_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "_rights", lambda: 0b10)
    with pytest.raises(ValueError, match=r"start it as root, or with .* \(missing: CAP_CHOWN .*"):
        Separation.parse("65000", [], "")


def test_a_command_or_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="STEP_COMMAND: there is no program 'no-such-box' to run"):
        Separation.parse("", ["no-such-box", "--"], "")
    with pytest.raises(ValueError, match="STEP_FOLDER: /no/such/folder is no folder"):
        Separation.parse("", ["env"], "/no/such/folder")
    assert Separation.parse("", [], "/no/such/folder") is None


def test_too_few_users_are_refused(tmp_path: Path) -> None:
    place = Separation(parse_users("20000-20001"), (), tmp_path)
    with pytest.raises(ValueError, match="2 users are too few for 2 worker processes and one"):
        WorkerPool(2, scratch=tmp_path, seconds=1, cpu_seconds=None, separation=place)


def test_who_starts_whom(tmp_path: Path) -> None:
    """A command that names the user changes it itself; another one is run by that user."""
    user = StepUser(20000, 20001)

    def words(place: Place) -> list[str]:
        argv = place.argv(["worker"])
        known = (sys.executable, "-I", "-S", str(tmp_path / "channel"))
        return [Path(word).name for word in argv if word not in known]

    inside = ["supervisor.py", "--channel", "--", "worker"]
    as_user = ["supervisor.py", "--user", "20000:20001"]
    assert words(Place(tmp_path, user)) == [*as_user, "--", "worker"]
    assert words(Place(tmp_path, None, ("box", "-i"))) == ["box", "-i", *inside]
    wrapped = [*as_user, "--wrapper", "--", "box", f"-v{tmp_path}"[-len(tmp_path.name) :]]
    assert words(Place(tmp_path, user, ("box", "{folder}"))) == [*wrapped, *inside]
    assert words(Place(tmp_path, user, ("box", "-u{uid}:{gid}"))) == [
        "box",
        "-u20000:20001",
        *inside,
    ]


def test_nothing_of_the_servers_home_is_passed(tmp_path: Path) -> None:
    given = {"USER": "root", "HOME": "/root", "XDG_CACHE_HOME": "/root/.cache", "LANG": "C"}
    folder = str(tmp_path)
    assert Place(tmp_path).environment(given) == {"LANG": "C", "HOME": folder, "TMPDIR": folder}


def test_more_files_pass_than_one_message_takes(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("text")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        left = handing.send(ours, b"a frame", [handing.reading(given)] * 450)
        ours.sendall(left)
        requests = handing.Requests(theirs)
        assert requests.read(7) == b"a frame"
        taken = list(requests.taken())
    assert [os.pread(each, 9, 0) for each in taken] == [b"text"] * 450
    for each in taken:
        os.close(each)


def test_what_is_written_goes_through_no_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("the server's")
    link.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        handing.writing(link)()
    assert target.read_text() == "the server's"


@pytest.fixture
async def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WorkerPool]:
    """Workers that ``env`` starts: as any user may."""
    (tmp_path / "apart_steps.py").write_text(STEPS)
    monkeypatch.syspath_prepend(tmp_path)
    place = Separation.parse("", ["env"], "")
    made = WorkerPool(2, scratch=tmp_path / "s", seconds=60, cpu_seconds=60, separation=place)
    await made.start()
    yield made
    await made.aclose()


async def test_a_command_starts_workers(pool: WorkerPool, tmp_path: Path) -> None:
    async def call(name: str, *args: object, account: str = "a") -> object:
        return await pool.call(f"apart_steps:{name}", [*args], account=account, key="k")

    secret = tmp_path / "blob.txt"
    secret.write_text("given")
    file = File("f", "blob.txt", "text/plain", "text", 5, "r", "w", local_path=secret)
    assert await call("first", file) == "given"
    await pool.build("apart_steps:made", [], account="a", key="k", into=tmp_path / "into")
    assert (tmp_path / "into").read_text() == "made"
    first = await call("pid")
    assert await call("pid") == first, "an account keeps its process"
    assert await call("pid", account="b") != first, "and shares it with no other"
    note = tmp_path / "note"
    hanging = asyncio.create_task(call("hang", str(note), account="b"))
    await eventually_async(note.exists)
    hanging.cancel()
    await eventually_async(lambda: gone(number(note)))
    for said in (b"\xff\xff\xff\xff", b"\0\0\0\2{}"):
        with pytest.raises(WorkerDied):
            await call("garble", list(said), account="b")


async def test_a_command_that_ends_is_said(tmp_path: Path) -> None:
    place = Separation.parse("", ["sh", "-c", "echo no such image >&2; exit 3"], "")
    pool = WorkerPool(1, scratch=tmp_path, seconds=60, cpu_seconds=60, separation=place)
    with pytest.raises(NoWorker, match="sh ended with code 3; it says: no such image"):
        await pool.start()
    await pool.aclose()


async def test_a_place_that_keeps_nothing_from_steps_is_refused(tmp_path: Path) -> None:
    settings = load_settings(data_dir=str(tmp_path), step_command=["env"])
    problem = await step_places.trouble(settings)
    assert problem is not None
    assert f"worker processes can read {tmp_path}" in problem
