"""Whether workers that a command prefix starts come up, get files, and are kept from what is the
server's: tried with one worker, when the server starts and by the doctor (design: Steps apart)."""

import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agentpost.agents.deaths import WorkerDied
from agentpost.agents.files import File
from agentpost.processes.pool import WorkerPool
from agentpost.processes.prefix import SETTING, CommandPrefix

_LOOK: Final = f"{__name__}:look"
_MAKE: Final = f"{__name__}:make"
_SECONDS: Final = 60.0
_ADVICE: Final = "see docs/step-user.md"


async def trouble(prefix: CommandPrefix, private: Sequence[Path], scratch: Path) -> str | None:
    """What is wrong, a sentence; None when all is well.

    Args:
        private: folders and files that no step may read.
        scratch: a folder of the caller alone.
    """
    pool = WorkerPool(1, scratch=scratch, seconds=_SECONDS, cpu_seconds=None, prefix=prefix)
    try:
        await pool.start()
        readable = await _readable_paths(pool, private, scratch)
    except (WorkerDied, OSError, TimeoutError) as error:
        return f"{SETTING}: {error} ({_ADVICE})"
    except Exception as error:  # an import that fails there, for example
        return f"{SETTING}: a worker process cannot work: {error!r} ({_ADVICE})"
    finally:
        await pool.aclose()
    if readable:
        return (
            f"{SETTING}: worker processes can read {', '.join(readable)}: set a command that keeps"
            f" them from it ({_ADVICE})"
        )
    return None


async def _readable_paths(pool: WorkerPool, private: Sequence[Path], scratch: Path) -> list[str]:
    """What of it a worker can read. Raises what `WorkerPool.call` raises, and `OSError` when a file
    does not pass as it should."""
    text = secrets.token_hex(8)
    server = [os.getpid(), _digest(os.getpid())]
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        lent, into = Path(folder) / "lent", Path(folder) / "result"
        lent.write_text(text)
        file = File("probe", "probe.txt", "text/plain", "text", len(text), "", "", local_path=lent)
        args = [file, [str(path) for path in private], server]
        answer: dict[str, Any] = await pool.call(_LOOK, args, account="", key="probe")
        await pool.call(_MAKE, [text], account="", key="probe", into=into)
        if answer["text"] != text or into.read_text() != text:
            raise OSError("what a worker process reads or writes is not what was given")
    if answer["capabilities"] and not answer["readable"]:
        raise OSError("worker processes have capabilities: set a command that drops them")
    return [str(path) for path in answer["readable"]]


def look(file: File, paths: list[str], server: list[Any]) -> dict[str, Any]:
    """In the worker: the text of the file, and what can be read of the paths and of the server's
    environment. Where there are other numbers of processes, the server's is another one's."""
    readable = [path for path in paths if _is_readable(Path(path))]
    pid, digest = server
    if _digest(pid) == digest:
        readable.append(f"/proc/{pid}/environ")
    (capabilities,) = re.findall(r"CapPrm:\s*(\w+)", Path("/proc/self/status").read_text())
    return {
        "text": file.local.read_text(),
        "readable": readable,
        "capabilities": int(capabilities, 16),
    }


def _digest(pid: int) -> str | None:
    try:
        return hashlib.sha256(Path(f"/proc/{pid}/environ").read_bytes()).hexdigest()
    except OSError:
        return None


def make(text: str) -> str:
    """In the worker: the contents of a file."""
    return text


def _is_readable(path: Path) -> bool:
    try:
        if path.is_dir():
            next(path.iterdir(), None)
        else:
            path.open("rb").close()
    except OSError:
        return False
    return True
