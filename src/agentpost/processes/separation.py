"""The settings ``step_user``, ``step_command`` and ``step_folder``: which user and which container
worker processes run in (design: Steps apart)."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentpost.processes import supervisor

CHANNEL: Final = "channel"
"""The socket in a worker's folder that one in a container connects to."""
_SUPERVISOR: Final = (sys.executable, "-I", "-S", str(Path(supervisor.__file__)))
_FOLDER_PREFIX: Final = "agentpost-steps-"
_USERS_MAX: Final = 1_000
_UID_MAX: Final = 2**32 - 2
_PATH_BYTES_MAX: Final = 107
"""Longest path of a Unix socket."""
_PLACES: Final = ("{folder}", "{uid}", "{gid}")
_CAPABILITIES: Final = {
    0: "CAP_CHOWN",
    1: "CAP_DAC_OVERRIDE",
    3: "CAP_FOWNER",
    5: "CAP_KILL",
    6: "CAP_SETGID",
    7: "CAP_SETUID",
}
"""What a server that is not root needs to start and end processes of others, and to tidy up."""
_THE_SERVERS_OWN: Final = re.compile("USER|LOGNAME|SHELL|XDG_(.*_HOME|RUNTIME_DIR)")
_ENTERED_BY_OTHERS: Final = 0o711


@dataclass(frozen=True, slots=True)
class StepUser:
    """A user of the system by its numbers."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where one worker process runs: its folder, its user and what it is started by."""

    folder: Path
    user: StepUser | None = None
    command: tuple[str, ...] = ()

    @property
    def channel(self) -> Path | None:
        """The socket it connects to; None: its standard input is one."""
        return self.folder / CHANNEL if self.command else None

    def argv(self, worker: Sequence[str]) -> list[str]:
        """The command line of the first process of a worker with that one."""
        ours = [*_SUPERVISOR]
        user = [] if self.user is None else ["--user", f"{self.user.uid}:{self.user.gid}"]
        if not self.command:
            return [*ours, *user, "--", *worker]
        inside = [*ours, "--channel", str(self.channel), "--", *worker]
        filled = [self._filled(part) for part in self.command]
        if self.user is None or _names_user(self.command):
            return [*filled, *inside]
        return [*ours, *user, "--wrapper", "--", *filled, *inside]

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of a worker here: without what leads into the server's user's home."""
        kept = {name: environ[name] for name in environ if not _THE_SERVERS_OWN.fullmatch(name)}
        return {**kept, "HOME": str(self.folder), "TMPDIR": str(self.folder)}

    def give(self, path: Path) -> None:
        """Make it the user's own."""
        if self.user is not None:
            os.chown(path, self.user.uid, self.user.gid, follow_symlinks=False)

    def _filled(self, part: str) -> str:
        user = self.user or StepUser(os.geteuid(), os.getegid())
        given = (str(self.folder), str(user.uid), str(user.gid))
        for name, value in zip(_PLACES, given, strict=True):
            part = part.replace(name, value)
        return part


@dataclass(frozen=True, slots=True)
class Separation:
    """Who workers run as, each of `workers` one of them at a time unless there is only one user; by
    which command; and below which folder."""

    users: tuple[StepUser, ...]
    command: tuple[str, ...]
    parent: Path
    mark: str = "elsewhere"
    """The link to that folder, in the folder of the server's process."""

    @classmethod
    def parse(cls, user: str, command: Sequence[str], folder: str) -> Separation | None:
        """None when neither is set. Raises `ValueError` for what cannot be used here, with what to
        do about it."""
        if not user and not command:
            return None
        name = "AGENTPOST_STEP_USER" if user else "AGENTPOST_STEP_COMMAND"
        if sys.platform != "linux":
            raise ValueError(f"{name} needs Linux")
        users = parse_users(user) if user else ()
        if users:
            _check_rights(_rights())
        if command:
            _check_command(command)
        parent = Path(folder or os.environ.get("TMPDIR") or "/tmp")  # noqa: S108
        if not parent.is_dir():
            what = "AGENTPOST_STEP_FOLDER" if folder else "the folder for temporary files"
            raise ValueError(f"{what}: {parent} is no folder; make it, or set another one")
        return cls(users, tuple(command), parent.resolve())

    @property
    def exclusive(self) -> bool:
        """Whether each worker has a user of its own."""
        return len(self.users) > 1

    @property
    def workers(self) -> tuple[StepUser, ...]:
        """The users of worker processes: of several, the last one is for `launch`."""
        return self.users[:-1] if len(self.users) > 1 else self.users

    @property
    def launch(self) -> tuple[str, ...]:
        """What a program is started by that reads files and is no worker: with the user, without
        the command."""
        if not self.users:
            return ()
        user = self.users[-1]
        return (*_SUPERVISOR, "--plain", "--user", f"{user.uid}:{user.gid}", "--")

    def make_folder(self) -> Path:
        """A folder for the folders of workers, which may be passed through and not listed. Raises
        `OSError`."""
        made = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=self.parent))
        made.chmod(_ENTERED_BY_OTHERS)
        sample = made / "worker-12345678" / CHANNEL
        if len(os.fsencode(sample)) > _PATH_BYTES_MAX:
            made.rmdir()
            most = _PATH_BYTES_MAX - len(os.fsencode(sample)) + len(os.fsencode(self.parent))
            raise OSError(
                f"AGENTPOST_STEP_FOLDER: {self.parent} is too long for the path of a socket: set a"
                f" folder whose path has at most {most} bytes"
            )
        return made


def parse_users(text: str) -> tuple[StepUser, ...]:
    """A name, a number, or the first and last of several numbers. Raises `ValueError`."""
    setting = "AGENTPOST_STEP_USER"
    several = re.fullmatch(r"(\d{1,10})-(\d{1,10})", text)
    if several:
        first, last = int(several[1]), int(several[2])
        if not 0 < first <= last <= _UID_MAX or last - first >= _USERS_MAX:
            raise ValueError(
                f"{setting}: {text} has to be the first and the last of at most {_USERS_MAX}"
                " numbers, such as 20000-20031"
            )
        users = tuple(StepUser(uid, uid) for uid in range(first, last + 1))
    elif text.isascii() and text.isdigit():
        users = (_user(int(text)),)
    else:
        try:
            found = pwd.getpwnam(text)
        except KeyError:
            raise ValueError(
                f"{setting}: there is no user {text!r} on this system: make one (useradd --system"
                f" --no-create-home --shell /usr/sbin/nologin {text}), or set a number"
            ) from None
        users = (StepUser(found.pw_uid, found.pw_gid),)
    for user in users:
        if user.uid in (0, os.geteuid()) or user.uid > _UID_MAX or user.gid == 0:
            whose = "root" if 0 in (user.uid, user.gid) else "the server's own user"
            raise ValueError(
                f"{setting}: {text} is {whose}, from whom nothing is kept: set another user"
            )
    return users


def _user(uid: int) -> StepUser:
    try:
        return StepUser(uid, pwd.getpwuid(uid).pw_gid)
    except (KeyError, OverflowError):  # a number needs no name
        return StepUser(uid, uid)


def _names_user(command: Sequence[str]) -> bool:
    """Whether the command itself changes the user."""
    return any("{uid}" in part for part in command)


def _rights() -> int:
    """The capabilities of this process, a bit for each."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("CapEff:"))
    return int(line.split()[1], 16)


def _check_rights(rights: int) -> None:
    missing = [name for bit, name in _CAPABILITIES.items() if not rights >> bit & 1]
    if missing:
        raise ValueError(
            f"AGENTPOST_STEP_USER: the server may not start processes of another user: start it as"
            f" root, or with {' '.join(_CAPABILITIES.values())} (missing: {' '.join(missing)});"
            " in a container add them, under systemd see deploying.md"
        )


def _check_command(command: Sequence[str]) -> None:
    if shutil.which(command[0]) is None:
        raise ValueError(
            f"AGENTPOST_STEP_COMMAND: there is no program {command[0]!r} to run: install it, or set"
            " its whole path"
        )
