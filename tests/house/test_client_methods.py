"""The methods of both clients that are one request each come from the table of operations."""

import runpy
from copy import copy
from typing import Any

import pytest

from agentpost.api.app import OPERATIONS
from agentpost.api.operation import Operation, Query
from tests.house.tree import DOCS

SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "client_methods.py"))
PYTHON, TYPESCRIPT = SCRIPT["PYTHON"], SCRIPT["TYPESCRIPT"]


def like(name: str, **changes: Any) -> Operation:
    """A new operation that differs from one of today's by its id and these fields."""
    (operation,) = (each for each in OPERATIONS if each.id == name)
    return changed(operation, **changes)


def changed(operation: Operation, **changes: Any) -> Operation:
    """The same operation but for these fields."""
    new = copy(operation)
    for field, value in changes.items():
        setattr(new, field, value)
    return new


def test_a_new_operation_is_in_both_clients() -> None:
    path = "/v1/schedules/{schedule_id}/run-between"
    new = like("replayWebhookEvents", id="runScheduleBetween", path=path)
    files = SCRIPT["files"]([*OPERATIONS, new])
    for line in (
        '    @operation("runScheduleBetween")',
        "    async def run_between(",
        "        since: datetime | str,",
        "        until: datetime | str | None = None,",
        "            until: Its end, exclusive; without it, now.",
        '        body = {"since": moment(since), "until": moment(until), "status": texts(status)}',
    ):
        assert f"\n{line}\n" in files[PYTHON]
    arguments = '"POST", "schedules", schedule_id, "run-between", body=body, repeatable=False'
    assert arguments in files[PYTHON]
    for line in (
        "  runBetween(scheduleId: string, body: ReplayInput, options: CallOptions = {})",
        '    return this.#transport.call("runScheduleBetween", call);',
    ):
        assert f"\n{line}" in files[TYPESCRIPT]


def test_a_post_that_may_come_twice_is_sent_again() -> None:
    path = "/v1/schedules/{schedule_id}/run"
    for is_repeatable in (False, True):
        new = like("redeliverWebhookEvent", id="runSchedule", path=path)
        files = SCRIPT["files"]([*OPERATIONS, changed(new, is_repeatable=is_repeatable)])
        call = files[TYPESCRIPT].rpartition('"runSchedule"')[0].rpartition("const call = ")[2]
        assert ("repeatable: true" in call) is is_repeatable
        arguments = files[PYTHON].partition('"schedules", schedule_id, "run"')[2].partition("\n")[0]
        assert ("repeatable=False" not in arguments) is is_repeatable


RUNS = "/v1/schedules/{schedule_id}/runs"
WAIT = Query("wait", "Seconds.", 0, 45, 0)


@pytest.mark.parametrize(
    "new",
    [
        like("getSchedule", id="watchRuns", path=RUNS, queries=(WAIT,)),
        like("getMessage", id="getRun", path=f"{RUNS}/{{message_id}}", queries=()),
        like("listSchedules", id="listRuns", path=RUNS),
        like("createSchedule", id="createRun", path=RUNS),
    ],
    ids=["held", "with headers", "a list", "with an object"],
)
def test_what_needs_more_has_to_be_written(new: Operation) -> None:
    with pytest.raises(ValueError, match="write the method"):
        SCRIPT["files"]([*OPERATIONS, new])
