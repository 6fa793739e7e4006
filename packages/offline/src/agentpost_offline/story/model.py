"""A story: what the figures say, computed once for each job and used by everything it makes."""

from enum import StrEnum

import msgspec

from agentpost_offline.data.model import Result, Table


class ClaimKind(StrEnum):
    """What a claim says."""

    TOTAL = "total"
    GROWTH = "growth"
    HIGHEST = "highest"
    LOWEST = "lowest"


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finding: its figures, the sentence that states them, and how much it matters."""

    kind: ClaimKind
    headline: str
    """A title that states the finding: "September 2025 had the highest revenue"."""
    sentence: str
    """The same with its figures."""
    figures: tuple[tuple[str, float], ...]
    """Name and value of each figure in the sentence."""
    result: int
    """Which of the story's results it was computed from."""
    weight: float = 0.0
    """0 to 1: the first claim of a story is its title."""
    marks: tuple[str, ...] = ()
    """Groups or periods that a picture of it highlights, as they stand in the result."""
    key: tuple[str, str] | None = None
    """The one figure to show large, as written, and what it is: "+13%", "Revenue, 2025"."""


class Story(msgspec.Struct, frozen=True, omit_defaults=True):
    """What there is to say about some tables, most important first."""

    claims: tuple[Claim, ...]
    results: tuple[Result, ...]
    """What was computed, as pictures and tables show it."""
    notes: tuple[str, ...] = ()
    """What was left out or could not be read."""
    language: str = "en"
    tables: tuple[Table, ...] = ()
    """The tables of the results, for the labels and units of their columns."""

    def about(self, result: int) -> tuple[Claim, ...]:
        """The claims that were computed from one of the results."""
        return tuple(claim for claim in self.claims if claim.result == result)

    def table(self, result: int) -> Table:
        """The table that a result was computed from."""
        id_ = self.results[result].query.table
        return next(table for table in self.tables if table.id == id_)
