"""The text of a PDF, read by pdfium in a process of its own.

pdfium unpacks and interprets a page at once and sets itself no limits: a megabyte of file can be
gigabytes of drawing. So it runs as ``python -m agentpost.extraction.pdf``, with a limit on memory
and on processor time, and its end ends nothing else.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agentpost.extraction import Unreadable, limits

_PASSWORD, _DAMAGED, _MEMORY = 3, 4, 5
_REASONS: Final = {_PASSWORD: "is protected by a password", _DAMAGED: "is damaged"}


def read_pages(path: Path, name: str, max_characters: int) -> str:
    """The text of a PDF's pages with form feeds between; raises `Unreadable`.

    Reading ends after the page that brings the text to ``max_characters``.
    """
    argv = [sys.executable, "-P", "-m", __name__, str(path), str(max_characters)]
    try:
        with _terminations_held():
            done = subprocess.run(  # noqa: S603 - our own module
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=limits.PDF_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{name} takes too long to read") from None
    if done.returncode:
        reason = _REASONS.get(done.returncode, "takes too much memory or time to read")
        raise Unreadable(f"{name} {reason}")
    text = done.stdout.decode(errors="replace")
    if not text.strip():
        raise Unreadable(f"{name} has no text in it (is it a scan?)")
    return text


@contextlib.contextmanager
def _terminations_held() -> Iterator[None]:
    """Inside, a process that is started gets no SIGTERM. A service manager sends it to every
    process of the service: that says nothing of the file, and the server ends what is to end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main(path: str, max_characters: int) -> int:
    """Write the text of a PDF to the standard output; the exit code says why there is none."""
    import pypdfium2

    _limit()
    try:
        document = pypdfium2.PdfDocument(path)
        written = 0
        for number in range(min(len(document), limits.MAX_PAGES)):
            text = ("\f" if number else "") + _page(document, number, max_characters)
            sys.stdout.buffer.write(text.encode(errors="replace"))
            written += len(text)
            if written >= max_characters:
                break
        sys.stdout.flush()
    except pypdfium2.PdfiumError as error:
        return _PASSWORD if "assword" in str(error) else _DAMAGED
    except MemoryError:
        return _MEMORY
    return 0


def _page(document: Any, number: int, max_characters: int) -> str:
    page = document[number]
    with _closing(page), _closing(page.get_textpage()) as text_page:
        count = min(text_page.count_chars(), max_characters)
        text = str(text_page.get_text_range(0, count)) if count else ""
    # pdfium marks a hyphen at a line's end with U+FFFE or U+0002: the word goes on.
    for mark in ("\ufffe\r\n", "\x02\r\n", "\ufffe", "\x02"):
        text = text.replace(mark, "")
    return text.replace("\f", "\n")


@contextlib.contextmanager
def _closing(thing: Any) -> Iterator[Any]:
    try:
        yield thing
    finally:
        thing.close()


def _limit() -> None:
    """Set the limits of this process, which has loaded what it needs."""
    import resource

    def lower(which: int, most: int) -> None:
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))

    lower(resource.RLIMIT_CPU, limits.PDF_CPU_SECONDS)
    lower(resource.RLIMIT_CORE, 0)
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        kib = next(int(line.split()[1]) for line in lines if line.startswith("VmData:"))
        lower(resource.RLIMIT_DATA, kib * 1024 + limits.PDF_MEMORY_BYTES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
