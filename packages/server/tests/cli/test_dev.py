"""`agentpost dev`: an author edits while work runs; one process for the whole afternoon."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentpost.serving import development
from agentpost.serving.development import AgentCode
from agentpost_client import Client, Message
from tests import forking
from tests.servers import empty_sqlite, free_port
from tests.waiting import eventually

SECONDS_MAX = 60.0
BROKEN = "from agentpost.agents import Job, Turn\n\nasync def agent(turn:\n"
AGENT = """
from pathlib import Path

from agentpost.agents import Job, Turn


async def agent(turn: Turn) -> None:
    if turn.running:
        await turn.join(turn.running[0].job_id)
        turn.reply("Passed on.")
    elif turn.message.text == "version":
        turn.reply("This is version VERSION.")
    else:
        await turn.start(work, title="Work")


async def work(job: Job) -> str:
    first = await job.step(note, "first")
    said = [each.text for each in await job.inbox(wait=60)]
    second = await job.step(note, "second")
    return f"VERSION: {first} {said} {second}"


def note(text: str) -> str:
    with Path("steps.txt").open("a") as file:
        file.write(text + " VERSION\\n")
    return text
"""


class Author:
    """The author's folder, and what the terminal shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.terminal = folder / "terminal"
        self.read = 0

    def save(self, version: int) -> None:
        """Write the agent of that version."""
        (self.folder / "agent.py").write_text(AGENT.replace("VERSION", str(version)))

    def sees(self, text: str) -> str:
        """Wait for what the terminal shows next; everything since the last look."""

        def shown() -> str:
            now = self.terminal.read_text("utf-8")[self.read :]
            return now if text in now else ""

        try:
            found = eventually(shown, SECONDS_MAX, f"{text!r} in the terminal")
        except AssertionError as error:
            error.add_note(self.terminal.read_text("utf-8"))
            raise
        self.read += len(found)
        return found

    @property
    def steps(self) -> list[str]:
        """What ran in steps."""
        return (self.folder / "steps.txt").read_text().splitlines()


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    """With a server that is started while the code is broken."""
    (tmp_path / "agent.py").write_text(BROKEN)
    data = tmp_path / ".agentpost"
    data.mkdir()
    shutil.copyfile(empty_sqlite(), data / "agentpost.db")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with (tmp_path / "terminal").open("wb") as output:
        process = forking.start(
            ["dev", "--port", str(free_port())], env=kept, cwd=tmp_path, output=output
        )
    try:
        yield Author(tmp_path)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS_MAX) in (0, -signal.SIGTERM)


def test_an_agent_is_taken_up_again_when_it_is_saved(author: Author) -> None:
    broken = author.sees("Fix the file and save it.")
    assert 'agent.py", line 3\n    async def agent(turn:' in broken
    assert "SyntaxError: '(' was never closed" in broken
    author.save(1)
    ready = author.sees("curl -s")
    address = re.search(r"AGENTPOST_URL=(\S+) AGENTPOST_KEY=(\S+)", ready)
    assert address is not None
    assert (author.folder / ".agentpost" / "dev-key").read_text() == address[2]
    with Client(address[1], address[2]) as client:

        def reply() -> str | None:
            return client.send("version").reply

        def begun() -> Message:
            message = client.send("begin")
            eventually(lambda: len(client.messages.get(message.id).jobs) == 1)
            return message

        assert reply() == "This is version 1."
        running = begun()
        eventually((author.folder / "steps.txt").exists)

        # Work that runs is repeated with the new code; what is recorded does not run again.
        author.save(2)
        author.sees("reloaded agent.py")
        assert reply() == "Passed on."
        done = client.wait(running.id, timeout=SECONDS_MAX)
        assert done.jobs[0].text == "2: first ['version'] second"
        assert author.steps == ["first 1", "second 2"]

        # Broken code leaves the previous code; plain functions wait for the fix.
        (author.folder / "agent.py").write_text(BROKEN)
        assert "line 3\n    async def agent(turn:" in author.sees("The previous code still answers")
        assert reply() == "This is version 2."
        running = begun()
        assert author.steps == ["first 1", "second 2"]
        author.save(3)
        author.sees("reloaded ")
        eventually(lambda: author.steps[2:] == ["first 3"])

        # An edit that a running job cannot follow is said plainly.
        (author.folder / "agent.py").write_text(AGENT.replace('note, "first"', 'note, "1st"'))
        printed = author.sees("Send the message again")
        assert "had begun with other code and cannot continue" in printed
        assert "call 1 was step agent:note, the re-run made step agent:note; the arg" in printed
        # The job waits, and goes on once the edit is undone.
        assert not client.get(running.id).final
        author.save(3)
        author.sees("reloaded ")
        eventually(lambda: reply() == "Passed on.")
        assert client.wait(running.id, timeout=SECONDS_MAX).jobs[0].text == (
            "3: first ['version'] second"
        )


def test_code_that_is_mended_before_the_first_look_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    code = AgentCode("mended_agent:agent")
    (tmp_path / "mended_agent.py").write_text(BROKEN)

    def mend(_: str) -> None:
        (tmp_path / "mended_agent.py").write_text(AGENT)

    monkeypatch.setattr(development, "say", mend)
    development._wait_for_good_code(code)
    assert "mended_agent" in sys.modules


def test_without_code_nothing_is_served(tmp_path: Path) -> None:
    ended = forking.run(["dev"], env={"PATH": os.environ["PATH"]}, cwd=tmp_path)
    assert ended.returncode == 1
    assert "there is no module for 'agent:agent'" in ended.stderr
    assert "agentpost new my-agent" in ended.stderr
    assert list(tmp_path.iterdir()) == []
