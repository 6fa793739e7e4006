"""The text of a PDF, read by pdfium in a process of its own with limits on memory and processor
time: pdfium sets itself none, and a megabyte of file can be gigabytes of drawing."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentpost.extraction import Unreadable, limits

_PASSWORD, _DAMAGED, _MEMORY = 3, 4, 5
_GAP: Final = 0.7
"""A gap between parts of a line is wider than this share of the size of its letters."""
_REASONS: Final = {_PASSWORD: "is protected by a password", _DAMAGED: "is damaged"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text, the size of its letters in points, whether they are bold, and
    where it begins: points from the page's left edge, and the share of the page's height that is
    above the foot of its letters (0 is the top). A tab stands in the text where a gap is wider
    than between words; ``ends`` has the left and right end of each part between tabs."""

    text: str
    size: float
    bold: bool
    left: float
    top: float
    ends: Sequence[tuple[float, float]] = ()


def read_pages(path: Path, name: str, max_characters: int) -> str:
    """The text of a PDF's pages with form feeds between, up to the page that brings it to
    ``max_characters``; raises `Unreadable`."""
    text = _apart(path, name, max_characters, "text")
    if not text.strip():
        raise Unreadable(f"{name} has no text in it (is it a scan?)")
    return text


def read_lines(path: Path, name: str, max_characters: int) -> list[list[Line]]:
    """The lines of a PDF's pages, for readers that look at letters and places; raises like
    `read_pages`."""
    output = _apart(path, name, max_characters, "lines")
    pages = [[Line(*line) for line in json.loads(page)] for page in output.splitlines()]
    if not any(line.text.strip() for page in pages for line in page):
        raise Unreadable(f"{name} has no text in it (is it a scan?)")
    return pages


def _apart(path: Path, name: str, max_characters: int, what: str) -> str:
    """What `main` writes in a process of its own."""
    argv = [sys.executable, "-P", "-m", __name__, str(path), str(max_characters), what]
    try:
        with _terminations_held():
            process = subprocess.run(  # noqa: S603 - our own module
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=limits.PDF_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{name} takes too long to read") from None
    if process.returncode:
        reason = _REASONS.get(process.returncode, "takes too much memory or time to read")
        raise Unreadable(f"{name} {reason}")
    return process.stdout.decode(errors="replace")


@contextlib.contextmanager
def _terminations_held() -> Iterator[None]:
    """Inside, a process that is started gets no SIGTERM. A service manager sends it to every
    process of the service: that says nothing of the file, and the server ends what is to end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main(path: str, max_characters: int, what: str = "text") -> int:
    """Write the text or the lines of a PDF to the standard output; the exit code says why there is
    none."""
    import pypdfium2

    _limit()
    try:
        document = pypdfium2.PdfDocument(path)
        count = 0
        for number in range(min(len(document), limits.MAX_PAGES)):
            if what == "lines":
                text = _lines(document, number, max_characters) + "\n"
            else:
                text = ("\f" if number else "") + _page(document, number, max_characters)
            sys.stdout.buffer.write(text.encode(errors="replace"))
            count += len(text)
            if count >= max_characters:
                break
        sys.stdout.flush()
    except pypdfium2.PdfiumError as error:
        return _PASSWORD if "assword" in str(error) else _DAMAGED
    except MemoryError:
        return _MEMORY
    return 0


def _lines(document: Any, number: int, max_characters: int) -> str:
    """The lines of a page as one line of JSON."""
    import pypdfium2.raw as pdfium

    lines: list[list[Any]] = []
    page = document[number]
    with contextlib.closing(page), contextlib.closing(page.get_textpage()) as text_page:
        raw = text_page.raw
        height = page.get_height() or 1.0
        count = min(text_page.count_chars(), max_characters)
        begin, characters = 0, []
        for at in range(count + 1):
            code = pdfium.FPDFText_GetUnicode(raw, at) if at < count else 10
            hyphen = code in (0x02, 0xFFFE)  # the word goes on in the next line
            if hyphen:
                characters.append(0xAD)
            elif code not in (10, 13):
                characters.append(code)
                continue
            text = "".join(map(chr, characters)).replace("\0", " ")
            if text.strip():
                middle = begin + len(characters) // 2
                size = pdfium.FPDFText_GetFontSize(raw, middle)
                text, ends = _parts(text_page, begin, text, size)
                left, base = _origin(raw, begin)
                lines.append(
                    [
                        text.replace("\0", ""),
                        round(size, 1),
                        pdfium.FPDFText_GetFontWeight(raw, middle) >= 600,
                        round(left, 1),
                        round(1 - base / height, 4),
                        ends,
                    ]
                )
            begin, characters = at + 1, []
    return json.dumps(lines)


def _origin(raw: Any, at: int) -> tuple[float, float]:
    """Where a character begins, in points from the page's left and lower edge."""
    import ctypes

    import pypdfium2.raw as pdfium

    left, base = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(raw, at, ctypes.byref(left), ctypes.byref(base))
    return left.value, base.value


def _parts(page: Any, begin: int, text: str, size: float) -> tuple[str, list[tuple[float, float]]]:
    """A line with tabs at its wide gaps, and the left and right end of each part."""
    raw, marked = page.raw, list(text)
    last = begin + max(len(text.rstrip("\xad ")) - 1, 0)  # a line may be a hyphen alone
    ends, left = [], _origin(raw, begin)[0]
    for at in range(1, len(text) - 1):
        if text[at] != " " or text[at - 1] == " ":
            continue
        after = at + 1
        while after < len(text) - 1 and text[after] == " ":
            after += 1
        end, start = page.get_charbox(begin + at - 1)[2], _origin(raw, begin + after)[0]
        if start - end > _GAP * size:
            marked[at] = "\t"
            ends.append((round(left, 1), round(end, 1)))
            left = start
    ends.append((round(left, 1), round(page.get_charbox(last)[2], 1)))
    return "".join(marked), ends


def _page(document: Any, number: int, max_characters: int) -> str:
    page = document[number]
    with contextlib.closing(page), contextlib.closing(page.get_textpage()) as text_page:
        count = min(text_page.count_chars(), max_characters)
        text = str(text_page.get_text_range(0, count)) if count else ""
    # pdfium marks a hyphen at a line's end with U+FFFE or U+0002: the word goes on.
    for mark in ("\ufffe\r\n", "\x02\r\n", "\ufffe", "\x02"):
        text = text.replace(mark, "")
    return text.replace("\f", "\n")


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
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
