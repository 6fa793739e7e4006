"""A terminal of 80 columns in which a test types, and reads what comes."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

SECONDS_MAX: Final = 60.0
COLUMNS: Final = 80
_CONTROLS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r|\x01|\x02")
# Without it, the terminal would not be the one whose Ctrl-C reaches the process.
_BEGIN: Final = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "agentpost", *sys.argv[1:]])
"""


class Terminal:
    """One `agentpost` command and its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], handle: int) -> None:
        self._process = process
        self._handle = handle
        self._seen = 0
        self.output = b""

    @property
    def text(self) -> str:
        """All that came, without colours and movements."""
        return _CONTROLS.sub("", self.output.decode(errors="replace"))

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._handle, text.encode())

    def until(self, text: str, again: str = "") -> str:
        """What came since the last call, up to and with the text.

        ``again`` are keys that are pressed each second until then: at a prompt, Python does not
        notice a Ctrl-C that comes just before it begins to wait for a key.
        """
        end = time.monotonic() + SECONDS_MAX
        while text not in self.text[self._seen :]:
            assert time.monotonic() < end, f"no {text!r} in {self.text[self._seen :]!r}"
            if again and not select.select([self._handle], [], [], 1)[0]:
                self.type(again)
            if not self._read():
                raise AssertionError(f"it ended; no {text!r} in {self.text[self._seen :]!r}")
        begin = self._seen
        self._seen = self.text.index(text, begin) + len(text)
        return self.text[begin : self._seen]

    def end(self) -> int:
        """Wait for its end; the exit code."""
        while self._read():
            pass
        return self._process.wait(SECONDS_MAX)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._handle], [], [], 1)
        if not ready:
            return True
        try:
            came = os.read(self._handle, 65_536)
        except OSError:  # Linux: the other end is closed
            return False
        self.output += came
        return bool(came)


@contextmanager
def terminal(environment: Mapping[str, str], *arguments: str) -> Iterator[Terminal]:
    """Run a command in a terminal; it is ended with the block."""
    handle, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    kept = {n: v for n, v in os.environ.items() if n not in ("COLUMNS", "LINES", "NO_COLOR", "CI")}
    process = subprocess.Popen(
        [sys.executable, "-c", _BEGIN, *arguments],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env={**kept, "TERM": "xterm-256color", **environment},
    )
    os.close(inner)
    try:
        yield Terminal(process, handle)
    finally:
        process.kill()
        process.wait()
        os.close(handle)
