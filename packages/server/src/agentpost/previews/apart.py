"""Runs `agentpost.previews.contents` in a process of its own, with limits, on a file from anybody.

The file goes to the process as it is read, so that this process never holds it. Whatever it breaks
there, or however long it takes, is the other process's end.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Final

FILE_BYTES_MAX: Final = 20_000_000
"""Largest file that is looked at."""
_PROGRAM: Final = "agentpost.previews.contents"
_SECONDS_MAX: Final = 20.0
_CPU_SECONDS_MAX: Final = 15
_MEMORY_BYTES_MAX: Final = 1_500_000_000
_WRITTEN_BYTES_MAX: Final = 4 * FILE_BYTES_MAX
_AT_ONCE: Final = asyncio.Semaphore(2)


async def run(
    arguments: Sequence[str], content: AsyncIterator[bytes], launch: Sequence[str] = ()
) -> bytes:
    """What it writes of a file with this content; empty when it fails or takes too long.
    ``launch``: a command that starts the process, such as one that takes another user.

    Waits for its turn first: two run at once. ``content`` may raise; nothing is left then.
    """
    async with _AT_ONCE:
        process = await asyncio.create_subprocess_exec(
            *(*launch, sys.executable, "-I", "-m", _PROGRAM, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(_SECONDS_MAX):
                await _feed(process, content)
                output, _ = await process.communicate()
        except TimeoutError:
            output = b""
        finally:
            if process.returncode is None:
                with contextlib.suppress(PermissionError):  # ``sudo``: it has ended its reading
                    process.kill()
                    await process.wait()
    return output if process.returncode == 0 else b""


async def _feed(process: asyncio.subprocess.Process, content: AsyncIterator[bytes]) -> None:
    assert process.stdin is not None
    async for piece in content:
        try:
            process.stdin.write(piece)
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):  # it ended; what it wrote says why
            break
    process.stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await process.stdin.wait_closed()


def limit() -> None:
    """For the program itself, first of all: how much it may take."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS_MAX, _CPU_SECONDS_MAX))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_WRITTEN_BYTES_MAX, _WRITTEN_BYTES_MAX))
