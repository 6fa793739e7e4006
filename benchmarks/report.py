"""Puts figures beside the floor's and beside the goals."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.scenarios import Figures
from benchmarks.servers import FLOOR, PRODUCT


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure must reach and should reach; ``of_floor``: as a share of the floor's."""

    must: float
    aim: float | None = None
    at_least: bool = False
    of_floor: bool = False

    def verdict(self, value: float | None) -> str:
        """``aim``, ``must`` or ``MISSED``; empty when there is nothing to judge."""
        if value is None:
            return ""
        if self.aim is not None and self._holds(value, self.aim):
            return "aim"
        return "must" if self._holds(value, self.must) else "MISSED"

    def _holds(self, value: float, bound: float) -> bool:
        return value >= bound if self.at_least else value <= bound

    def __str__(self) -> str:
        bounds = "/".join(f"{b:.3g}" for b in (self.must, self.aim) if b is not None)
        return f"{'>=' if self.at_least else '<='} {bounds}{'x' if self.of_floor else ''}"


GOALS = {
    "echo-1.p50_ms": Goal(1.25, of_floor=True),
    "echo-1.p99_ms": Goal(15, 8),
    "echo-32.runs_per_s": Goal(0.7, 0.85, at_least=True, of_floor=True),
    "echo-32.cpu_ms_per_run": Goal(1.7, 1.4, of_floor=True),
    "conversation.runs_per_s": Goal(150, at_least=True),
    "job-1.p50_ms": Goal(20),
    "job-32.runs_per_s": Goal(400, at_least=True),
    "job-32.cpu_ms_per_run": Goal(1.5),
    "mixed.echo_p99_ms": Goal(50),
    "mixed.step_p50_ms": Goal(15),
    "memory.idle_mb": Goal(65),
    "memory.growth_mb": Goal(10, 5),
    "waits.kib_per_wait": Goal(16),
    "waits.wake_p99_ms": Goal(2),
    "webhooks.per_s": Goal(5_000, at_least=True),
    "webhooks-1000.per_s": Goal(4_000, at_least=True),
    "isolation.p99_ms": Goal(2_000),
    "isolation-slow.p99_ms": Goal(2_000),
}
POSTGRES_GOALS = {
    "echo-32.cpu_ms_per_run": Goal(1.2),
    "job-32-split.runs_per_s": Goal(100, at_least=True),
}
"""Its CPU time is that of agentpost and the database together."""

HEADINGS = ("figure", FLOOR, PRODUCT, "ratio", "must/aim", "verdict")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both servers, medians over the rounds; None where it was not measured.

    ``ratio`` is the product's figure as a multiple of the floor's, ``goal`` what it is to reach.
    """

    figure: str
    floor: float | None
    product: float | None
    ratio: float | None
    goal: Goal | None = None

    @property
    def verdict(self) -> str:
        """How the product's figure stands to its goal; empty where there is none."""
        goal = self.goal
        return goal.verdict(self.ratio if goal.of_floor else self.product) if goal else ""

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        numbers = (number(value) for value in (self.floor, self.product, self.ratio))
        return (self.figure, *numbers, str(self.goal or ""), self.verdict)

    def as_json(self) -> dict[str, float | str | None]:
        """The row for machines."""
        return {
            "figure": self.figure,
            FLOOR: self.floor,
            PRODUCT: self.product,
            "ratio": self.ratio,
            "verdict": self.verdict or None,
        }


def rows(
    rounds: dict[tuple[str, str], list[Figures]], goals: Mapping[str, Goal] = GOALS
) -> list[Row]:
    """Medians of the figures kept under (scenario, server), in the order they were measured."""
    scenarios = dict.fromkeys(scenario for scenario, _ in rounds)
    found: list[Row] = []
    for scenario in scenarios:
        floor, product = (rounds.get((scenario, server), []) for server in (FLOOR, PRODUCT))
        for name in (floor or product)[0]:
            ours, theirs = ([one[name] for one in measured] for measured in (product, floor))
            figure, times = f"{scenario}.{name}", ratio(ours, theirs)
            found.append(Row(figure, median(theirs), median(ours), times, goals.get(figure)))
    return found


def ratio(product: list[float], floor: list[float]) -> float | None:
    """The median of the rounds' own ratios: a disturbed round disturbed both servers."""
    if len(product) != len(floor):
        ours, theirs = median(product), median(floor)
        return None if ours is None or not theirs else ours / theirs
    pairs = zip(product, floor, strict=True)
    return median([ours / theirs for ours, theirs in pairs if theirs])


def median(values: Sequence[float]) -> float | None:
    """The median; None of nothing."""
    return statistics.median(values) if values else None


def table(found: Iterable[Row]) -> str:
    """A Markdown table that also reads well as it is."""
    lines = [HEADINGS, *(row.cells() for row in found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    text = [" | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    rule = " | ".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in (text[0], rule, *text[1:]))


def number(value: float | None) -> str:
    """Three significant digits, thousands whole."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
