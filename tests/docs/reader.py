"""A reader who pastes a page's blocks in their order, in a folder of their own.

`make serve` and `agentpost dev` are started as shown; any other `agentpost` behind a prompt is run
by `tests/forking.py`, where starting it takes a tenth of the time. The folder looks like a fresh
clone. Whatever differs from one machine to the next is put in as a person would: the keys that
servers print, the ids of what was made, free ports for the ones shown.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from tests import forking
from tests.docs.snippets import Block, Command, blocks
from tests.house.tree import ROOT
from tests.servers import free_port
from tests.waiting import eventually

READY = "agentpost is ready at "
KEY = re.compile(r"svc_key_(?:[A-Za-z0-9_-]+|…)")
ID = re.compile(r"\b(msg|wrk|key|up|exe|acc|evt|sch|whe)_[0-9a-f]{8,}")
CHANGING = [
    (re.compile(r"\b([a-z]{2,5})_[0-9a-f]{8,}"), r"\1_ID"),
    (re.compile(r"svc_key_\S+"), "KEY"),
    (re.compile(r"\bsecret key [0-9a-f]{8}\b"), "secret key ID"),
    (re.compile(r"https?://[^\s/]+"), "URL"),
    (re.compile(r"/login/\S+"), "/login/TOKEN"),
    (re.compile(r"/password/\S+"), "/password/TOKEN"),
    (re.compile(r"\b(in \d+ (s|min|h|d)|\d+ (s|min|h|d) ago)\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z| UTC)?"), "TIME"),
    (re.compile(r"…[A-Za-z0-9]{4}\b"), "HINT"),
    (re.compile(r"\S*\.venv/bin/"), ".venv/bin/"),
    (re.compile(r"\d[\d,.]*"), "N"),
    (re.compile(r"\s+"), " "),
]
# Instead of the program: says which process was to become it, and ends as it does. Where no
# environment is active, nothing is found, as without this.
INSTEAD = """
agentpost() {
  type -P agentpost >/dev/null || { echo "agentpost: command not found" >&2; return 127; }
  sh -c 'exec 3>&1; echo $$ >"$0"; read code <"$1"; exit $code' ASKED ANSWERED "$@"
}
"""
# For a server: writes what it would be started with, and ends.
STARTED = """
agentpost() {
  type -P agentpost >/dev/null || { echo "agentpost: command not found" >&2; return 127; }
  env -0 >ENVIRON
  printf '%s\\0' "$PWD" "$@" >WORDS
}
"""
SERVE = re.compile(r"(\w+=\S+ )*agentpost serve\b")
KEPT = re.compile(r"^  (/\S+/first-start\.txt)$", re.M)
READY_SECONDS_MAX = 60.0
COMMAND_SECONDS_MAX = 120


class Reader:
    """One folder, one terminal, and the servers started in further ones. Close it at the end."""

    def __init__(self, home: Path, ports: tuple[str, ...] = ("8080",)) -> None:
        made = (ROOT / ".venv/.ready").stat().st_mtime
        projects = [*ROOT.glob("pyproject.toml"), *ROOT.glob("*/*/pyproject.toml")]
        newest = max(path.stat().st_mtime for path in (*projects, ROOT / "uv.lock"))
        assert made >= newest, "run `make setup` first: in the copy it would move the environment"
        self._home = home
        self.folder = home
        self.ports = {port: str(free_port()) for port in ports}
        self.ids: dict[str, str] = {}
        self.key = ""
        self.output = ""
        self.servers: list[forking.Process] = []
        self._state = home / "state"
        self._where = home / "where"
        self._state.write_text("")
        self._asked, self._answered = home / "asked", home / "answered"
        for line in (self._asked, self._answered):
            os.mkfifo(line)
        self.move_to("agentpost")
        path = [p for p in os.environ["PATH"].split(":") if not (Path(p) / "agentpost").exists()]
        # The tests may be run by make, which hands its variables on: `make test ARGS=…`.
        not_theirs = ("AGENTPOST_", "VIRTUAL", "MAKE", "MFLAGS", "ARGS", "WORKERS")
        kept = {n: v for n, v in os.environ.items() if not n.startswith(not_theirs)}
        self._environment = {
            **kept,
            "PATH": ":".join(path),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state-home"),
            "AGENTPOST_PORT": self.ports["8080"],  # the default one may be in use
        }

    def move_to(self, name: str) -> None:
        """Go on in a fresh folder: nothing of an earlier page is there but the servers."""
        self.folder = self._home / name
        self.folder.mkdir(parents=True)
        for each in ROOT.iterdir():
            if each.name not in (".git", "agentpost.toml"):
                (self.folder / each.name).symlink_to(each)
        self._state.write_text("")
        self._where.write_text(str(self.folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_servers()

    def end_servers(self, first: int = 0) -> None:
        """End the servers, from the one with this number on."""
        for server in self.servers[first:]:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)
        for server in self.servers[first:]:
            server.wait(30)

    def read(self, page: Path, apart: Mapping[str, str]) -> Iterator[Command]:
        """Do what the page says; gives each command that was run, its output in ``output``.

        ``apart``: beginnings of commands that are not run, with the reason.
        """
        for block in blocks(page):
            for command in self.take(block):
                if not any(command.text.startswith(start) for start in apart):
                    yield command
                    self.check(command)

    def take(self, block: Block) -> list[Command]:
        """Save a block that is a file; the commands of one that has some."""
        if block.file is not None:
            (Path(self._where.read_text().strip()) / block.file).write_text(
                self.filled(block.text), "utf-8"
            )
        return block.commands

    def filled(self, text: str) -> str:
        """The text with what is true here."""
        for shown, here in self.ports.items():
            text = re.sub(rf"\b{shown}\b", here, text)
        if self.key:
            text = KEY.sub(self.key, text)
        return ID.sub(lambda match: self.ids.get(match[1], match[0]), text)

    def run(self, command: Command, code: int = 0) -> str:
        """Paste a command; what it prints. A server goes to a terminal of its own."""
        text = self.filled(command.text)
        if re.search(r"\b(make serve|agentpost (serve|dev))\b", text) and code == 0:
            self.output = self._serve(text)
        else:
            self.output = self.paste(text, code)
        for match in ID.finditer(self.output):
            self.ids[match[1]] = match[0]
        return self.output

    def paste(self, text: str, code: int = 0) -> str:
        """Run it in the one terminal: variables and the folder stay."""
        state, where = shlex.quote(str(self._state)), shlex.quote(str(self._where))
        instead = INSTEAD if sys.platform == "linux" else ""
        instead = instead.replace("ASKED", shlex.quote(str(self._asked)))
        instead = instead.replace("ANSWERED", shlex.quote(str(self._answered)))
        script = (
            f'. {state}\ncd "$(cat {where})"\n{instead}set -a\n{text}\ncode=$?\n'
            f"export -p > {state}\npwd > {where}\nexit $code\n"
        )
        done = self._watched(script)
        assert done.returncode == code, f"{text}\n{done.stdout}"
        return done.stdout

    def _watched(self, script: str) -> "subprocess.CompletedProcess[str]":
        """Run it, and what asks to become `agentpost` meanwhile."""
        asked = os.open(self._asked, os.O_RDWR)  # both ends: reading waits for the next who asks
        runner = threading.Thread(target=self._become, args=(asked,), daemon=True)
        runner.start()
        try:
            return self._bash(script)
        finally:
            os.write(asked, b"\n")
            runner.join()
            os.close(asked)

    def _become(self, asked: int) -> None:
        """For each process that asks: run the command with its words, environment and output."""
        while asking := os.read(asked, 100).strip():
            here = Path("/proc") / asking.decode()
            words = (here / "cmdline").read_bytes().split(b"\0")[5:-1]
            variables = (here / "environ").read_bytes().split(b"\0")[:-1]
            with (here / "fd/3").open("ab") as output, (here / "fd/2").open("ab") as errors:
                process = forking.start(
                    [word.decode() for word in words],
                    env=dict(each.decode().split("=", 1) for each in variables),
                    cwd=(here / "cwd").resolve(),
                    output=output,
                    errors=errors,
                )
                ended = process.wait(COMMAND_SECONDS_MAX)
            self._answered.write_text(f"{ended}\n")

    def _bash(self, script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "-c", script],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )

    def _serve(self, text: str) -> str:
        log = self._log(len(self.servers))
        with log.open("wb") as out:
            server = self._start(text, out)
        self.servers.append(server)

        def ready() -> bool:
            assert server.poll() is None, log.read_text()
            return READY in log.read_text()

        eventually(ready, READY_SECONDS_MAX, "the server")
        reported = log.read_text()
        if kept := KEPT.search(reported):  # nobody pastes from a log: the reader looks it up
            reported += Path(kept[1]).read_text()
        if printed := KEY.search(reported):
            self.key = printed[0]
        return reported

    def _start(self, text: str, output: IO[bytes]) -> forking.Process:
        if sys.platform == "linux" and SERVE.match(text):
            return self._fork(text, output)
        script = f'. {self._state}; cd "$(cat {self._where})"; exec env {text}'
        return subprocess.Popen(
            ["bash", "-c", script],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def _fork(self, text: str, output: IO[bytes]) -> forking.Process:
        """The server with the words, environment and folder that the terminal gives it."""
        environ, words = self._home / "environ", self._home / "words"
        asking = STARTED.replace("ENVIRON", shlex.quote(str(environ)))
        asking = asking.replace("WORDS", shlex.quote(str(words)))
        done = self._bash(f'. {self._state}\ncd "$(cat {self._where})"\n{asking}{text}')
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        folder, *given = words.read_text().split("\0")[:-1]
        variables = environ.read_text().split("\0")[:-1]
        return forking.start(
            given,
            env=dict(each.split("=", 1) for each in variables),
            cwd=Path(folder),
            output=output,
        )

    def log(self, number: int) -> str:
        """What that server has printed."""
        return self._log(number).read_text("utf-8")

    def _log(self, number: int) -> Path:
        return self._state.with_name(f"server-{number}.log")

    def check(self, command: Command) -> None:
        """What the page shows below the command is what came, but for what changes each time."""
        came = {plain(line) for line in self.output.splitlines()}
        for line in command.shown:
            if line.strip() and "…" not in line and "/home/ada" not in line:
                assert plain(line) in came, f"{command.text}\nshown: {line}\ncame:\n{self.output}"


def plain(line: str) -> str:
    """A line of output without what differs from run to run."""
    for pattern, instead in CHANGING:
        line = pattern.sub(instead, line)
    return line.strip()


@contextmanager
def taken(port: str) -> Iterator[None]:
    """Somebody else listens on the port meanwhile."""
    import socket

    with socket.create_server(("127.0.0.1", int(port))):
        yield
