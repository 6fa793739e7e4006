"""A finding before it is checked: its figures, how to compute them again, the words for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentpost_offline.data.model import Cell, Result, Table
from agentpost_offline.story import naming
from agentpost_offline.story.model import Claim, ClaimKind
from agentpost_offline.story.second import Check
from agentpost_offline.story.shape import Grid, Line, present
from agentpost_offline.style import numbers
from agentpost_offline.style.languages import language, words

_SHARING = 3
"""How many are named together as the highest."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What findings are looked for in: a result laid out, with its table and language."""

    result: Result
    grid: Grid
    table: Table
    code: str

    def written(self, line: Line, value: float) -> str:
        """A value of a series, for a sentence."""
        return numbers.short(value, line.unit, self.code)

    def change(self, line: Line, value: float) -> str:
        """A change of a series, with its sign."""
        return numbers.signed(value, line.unit, self.code)


@dataclass(frozen=True, slots=True)
class Draft:
    """One finding.

    Args:
        kind: what it says.
        pattern: the name of its words.
        words: what stands in them, as written. A figure that is not among them is an amount of
            the measure; all amounts of a finding are written in one format.
        figures: the numbers in it.
        checks: each is computed again; the finding is dropped when one comes out otherwise.
        weight: 0 to 1.
        marks: keys of the result that a picture highlights.
        key: the figure to show large, and what it is.
    """

    kind: ClaimKind
    pattern: str
    words: Mapping[str, str]
    figures: Mapping[str, float]
    checks: tuple[Check, ...]
    weight: float
    marks: tuple[Cell, ...] = ()
    key: tuple[str, str] | None = None
    line: Line | None = field(default=None, compare=False)
    signed: bool = False

    def claim(self, result: int, subject: Subject) -> Claim:
        """The finding in words."""
        headline, sentence = words(naming.WORDS, subject.code)["claims"][self.pattern]
        name = naming.measure(self.line.measure, subject.table, subject.code) if self.line else ""
        said = {"measure": name, "m": naming.inner(name, subject.code), **self._amounts(subject)}
        said |= self.words
        return Claim(
            self.kind,
            _capital(headline.format(**said)),
            _capital(sentence.format(**said)).replace("..", "."),
            tuple(self.figures.items()),
            result,
            round(self.weight, 4),
            tuple(str(mark) for mark in self.marks if mark is not None),
            self.key,
        )

    def _amounts(self, subject: Subject) -> dict[str, str]:
        amounts = {k: v for k, v in self.figures.items() if k not in self.words}
        unit = self.line.unit if self.line else None
        # In the format of the picture of the same values.
        around = present(self.line.values) if self.line else []
        form = numbers.format_for([*amounts.values(), *around], unit, subject.code)
        plus = "+" if self.signed else ""
        return {k: (plus if v > 0 else "") + form.text(v) for k, v in amounts.items()}


def shared(
    subject: Subject,
    line: Line,
    entries: Sequence[tuple[float, Cell, str]],
    checks: tuple[Check, ...],
) -> list[Draft]:
    """That several groups or periods are the highest; ``entries``: value, key and label of each.
    Nothing where they are many."""
    if not 1 < len(entries) <= _SHARING:
        return []
    value = entries[0][0]
    names = language(subject.code).listed([label for _, _, label in entries])
    marks = tuple(key for _, key, _ in entries)
    key = (subject.written(line, value), f"{line.name}, {names}")
    return [Draft(ClaimKind.BEST, "shared", {"groups": names}, {"value": value}, checks, 0.5,
                  marks, key, line)]  # fmt: skip


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
