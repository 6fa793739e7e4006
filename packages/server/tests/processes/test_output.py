"""What functions print never harms the call that printed it, nor the worker that ran it."""

from __future__ import annotations

import io
import logging
import threading
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars
from structlog.testing import capture_logs

from agentpost.author.log_records import MARK
from agentpost.author.output import CALL_LINES_MAX, Output, _StandardStream
from tests.processes.pools import MakeBench, anyio_backend, bench, steps

__all__ = ["anyio_backend", "bench", "steps"]
NESTED = MARK.decode() + "[" * 15_000


async def test_a_printed_line_that_only_looks_like_a_record_is_a_line(bench: MakeBench) -> None:
    one = bench()
    pid = await one.call("pid")
    with capture_logs() as logs:
        for _ in range(3):
            assert await one.call("printed", NESTED) == pid
    printed = [line["line"] for line in logs if line["event"] == "agent_output"]
    assert [line[: len(MARK)] for line in printed] == [MARK.decode()] * 3


async def test_a_name_that_the_author_has_bound_costs_no_line(bench: MakeBench) -> None:
    one = bench()
    pid = await one.call("pid")
    for name in ("line", "stream", "event", "self", "level", "logger", "message"):
        bound: dict[str, Any] = {name: "of the author"}
        with capture_logs() as logs, bound_contextvars(**bound):
            assert await one.call("printed", "hello") == pid, name
        found = [(line["event"], line["line"]) for line in logs]
        assert found == [("agent_output", "hello")], name
    assert await one.call("pid") == pid


def test_the_fields_of_a_record_are_its_own() -> None:
    record = {"level": "warning", "logger": "a", "message": "text", "exception": ""}
    with capture_logs() as logs:
        Output({"logger": "x", "message": "y", "job_id": "exe_1"}).record(record)
    (line,) = logs
    assert (line["logger"], line["message"], line["job_id"]) == ("a", "text", "exe_1")


async def test_records_that_the_log_leaves_out_use_up_nothing(bench: MakeBench) -> None:
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.WARNING)
    try:
        with capture_logs() as logs:
            await bench().call("chatter", CALL_LINES_MAX + 1)
    finally:
        root.setLevel(before)
    assert [(line["event"], line["message"]) for line in logs] == [("agent_log", "what matters")]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_outside_any_call_is_written_whole(end: str) -> None:
    """With the end of its thread at the latest."""
    written: list[str] = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    stream = _StandardStream(Stream(), "stdout")
    print("of the main", "thread", end="", file=stream)
    thread = threading.Thread(target=lambda: print("of a thread", end=end, file=stream))
    thread.start()
    thread.join()
    assert written == ["of a thread\n"]
