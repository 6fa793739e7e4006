"""Whether workers that run apart come up, get files, and are kept from what is the server's: tried
with one worker, when the server starts and by the doctor (design: Steps apart)."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentpost.agents.deaths import WorkerDied
from agentpost.agents.files import File
from agentpost.processes.pool import WorkerPool
from agentpost.processes.separation import Separation

_LOOK: Final = f"{__name__}:look"
_MAKE: Final = f"{__name__}:make"
_SECONDS: Final = 60.0
_ADVICE: Final = "see docs/step-user.md"


async def trouble(separation: Separation, private: Sequence[Path], scratch: Path) -> str | None:
    """What is wrong, a sentence; None when all is well.

    Args:
        private: folders and files that no step may read.
        scratch: a folder of the caller alone.
    """
    setting = "AGENTPOST_STEP_USER" if separation.users else "AGENTPOST_STEP_COMMAND"
    if separation.users and separation.command:
        setting += " and AGENTPOST_STEP_COMMAND"
    pool = WorkerPool(1, scratch=scratch, seconds=_SECONDS, cpu_seconds=None, separation=separation)
    try:
        await pool.start()
        paths = list(private)
        if not separation.command:  # in a container the number may be another process's
            paths.append(Path(f"/proc/{os.getpid()}/environ"))
        readable = await _tried(pool, paths, scratch)
    except (WorkerDied, OSError, TimeoutError) as error:
        return f"{setting}: {error} ({_ADVICE})"
    except Exception as error:  # an import that fails there, for example
        return f"{setting}: a worker process cannot work: {error!r} ({_ADVICE})"
    finally:
        await pool.aclose()
    if readable:
        return (
            f"{setting}: worker processes can read {', '.join(readable)}: set a user, or a command,"
            f" that keeps them from it ({_ADVICE})"
        )
    return None


async def _tried(pool: WorkerPool, private: Sequence[Path], scratch: Path) -> list[str]:
    """What of it a worker can read. Raises what `WorkerPool.call` raises, and `OSError` when a file
    does not pass as it should."""
    said = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        given, into = Path(folder) / "given", Path(folder) / "made"
        given.write_text(said)
        file = File("probe", "probe.txt", "text/plain", "text", len(said), "", "", local_path=given)
        paths = [str(path) for path in private]
        found: dict[str, object] = await pool.call(_LOOK, [file, paths], account="", key="probe")
        await pool.build(_MAKE, [said], account="", key="probe", into=into)
        if found["text"] != said or into.read_text() != said:
            raise OSError("what a worker process reads or writes is not what was given")
    readable = found["readable"]
    return [path for path in paths if isinstance(readable, list) and path in readable]


def look(file: File, paths: list[str]) -> dict[str, object]:
    """In the worker: the text of the file, and which of the paths can be read."""
    return {
        "text": file.local.read_text(),
        "readable": [path for path in paths if _is_readable(Path(path))],
    }


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
