"""Logging holds up nobody and raises nothing, whatever becomes of the stream."""

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from agentpost.observability import sink as module
from agentpost.observability.sink import LINES_MAX, Sink
from tests.waiting import PATIENCE


def dropped(lines: int) -> dict[str, Any]:
    return {"dropped": lines}


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """(where to read, what to write to)."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        yield reading, stream
    os.close(reading)


def read_lines(fd: int, count: int) -> list[dict[str, Any]]:
    """That many lines of a pipe."""
    data = b""
    while data.count(b"\n") < count:
        data += os.read(fd, 65536)
    return [json.loads(line) for line in data.splitlines()]


def test_an_urgent_line_is_written_at_once_after_all_before_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as stream:
        sink = Sink(stream, json.dumps, dropped)
        sink.put({"n": 1}, urgent=False)
        sink.put({"n": 2}, urgent=True)
        assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, 2]


def test_others_come_by_themselves_and_in_order(pipe: tuple[int, TextIO]) -> None:
    reading, stream = pipe
    sink = Sink(stream, json.dumps, dropped)
    for n in range(500):
        sink.put({"n": n}, urgent=False)
    assert [line["n"] for line in read_lines(reading, 500)] == list(range(500))


def test_a_reader_that_does_not_read_holds_up_nobody(pipe: tuple[int, TextIO]) -> None:
    reading, stream = pipe
    sink = Sink(stream, json.dumps, dropped)
    event = {"text": "x" * 1000}
    written = threading.Event()

    def write() -> None:
        for n in range(LINES_MAX + 2_000):
            sink.put(event, urgent=n % 100 == 0)
        written.set()

    threading.Thread(target=write, daemon=True).start()
    assert written.wait(PATIENCE), "a log line waits for its reader"
    lines: list[dict[str, Any]] = []
    while not any("dropped" in line for line in lines):
        lines += read_lines_whole(reading)
    (report,) = [line for line in lines if "dropped" in line]
    assert report["dropped"] > 0
    sink.put({"text": "after"}, urgent=True)
    while lines[-1].get("text") != "after":
        lines += read_lines_whole(reading)
    assert len(lines) - 2 + report["dropped"] == LINES_MAX + 2_000


def read_lines_whole(fd: int) -> list[dict[str, Any]]:
    """What there is, to the end of a line."""
    data = os.read(fd, 65536)
    while not data.endswith(b"\n"):
        data += os.read(fd, 1)
    return [json.loads(line) for line in data.splitlines()]


def test_a_full_disk_is_no_fault() -> None:
    with Path("/dev/full").open("w") as stream:
        sink = Sink(stream, json.dumps, dropped)
        for _ in range(3):
            sink.put({"n": 1}, urgent=True)
            sink.put({"n": 1}, urgent=False)
        sink.flush()


def test_a_reader_that_is_gone_is_no_fault(pipe: tuple[int, TextIO]) -> None:
    reading, stream = pipe
    os.dup2(os.open(os.devnull, os.O_RDONLY), reading)
    sink = Sink(stream, json.dumps, dropped)
    sink.put({"n": 1}, urgent=True)
    sink.flush()


def test_a_value_that_cannot_be_rendered_costs_its_line_only() -> None:
    stream = io.StringIO()
    sink = Sink(stream, json.dumps, dropped)
    sink.put({"n": object()}, urgent=False)
    sink.put({"n": 2}, urgent=True)
    first, second = stream.getvalue().splitlines()
    assert first == "a log line could not be rendered: TypeError"
    assert json.loads(second) == {"n": 2}


def test_a_flush_ends_though_nobody_reads(
    pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, stream = pipe
    monkeypatch.setattr(module, "GATHER_SECONDS", 0.0)
    sink = Sink(stream, json.dumps, dropped)
    for _ in range(500):
        sink.put({"text": "x" * 1000}, urgent=False)
    began = time.monotonic()
    sink.flush(0.1)
    assert time.monotonic() - began < PATIENCE
