"""What tools over tables share: what is in files, in words, and figures computed from them."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from agentpost.agents.base import File, Job
from agentpost_offline import steps
from agentpost_offline.content.blocks import plain
from agentpost_offline.data.archives import unpacking
from agentpost_offline.data.model import Table
from agentpost_offline.making.chart.figures import grid_of
from agentpost_offline.making.tabulating import Request, tabulate

SECONDS: Final = steps.SECONDS
_VALUES: Final = 12
_ROWS: Final = 100


class Refused(Exception):
    """A call that cannot be carried out as it is, in words that say what to change."""


async def survey(job: Job, files: Sequence[File]) -> list[Table]:
    """The tables in files."""
    result = await job.step(steps.survey, list(files), timeout=SECONDS)
    return msgspec.convert(result["tables"], list[Table])


def describe(table: Table) -> str:
    """A table's columns, with some of what is in them."""
    lines = [f"Table {table.name}: {table.rows} rows"]
    for column in table.columns:
        values = ", ".join(column.values[:_VALUES])
        span = f"{column.first} to {column.last}" if column.first is not None else ""
        unit = f" in {column.unit}" if column.unit else ""
        lines.append(f"- {column.name}{unit} ({column.role}): {values or span}")
    return "\n".join([*lines, *(f"Note: {note}" for note in table.notes)])


@unpacking
def compute(files: Sequence[File], request: Any) -> str:
    """A step: the table that a request asks for, as Markdown, with where it comes from."""
    from agentpost_offline.data.dataset import open_tables

    with open_tables(files) as dataset:
        tabulation = tabulate(dataset, msgspec.convert(request, Request))
    grid = grid_of(tabulation.result, tabulation.table, "en")
    rows = [grid.header, *grid.rows[:_ROWS]]
    lines = ["| " + " | ".join(map(plain, row)) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(grid.header))
    left = len(tabulation.result.rows) - _ROWS
    more = [f"{left} rows follow; ask for the top ones"] if left > 0 else []
    return "\n".join([*lines, *more, f"{tabulation.source}.", *tabulation.notes])
