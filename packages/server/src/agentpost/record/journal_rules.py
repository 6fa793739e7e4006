"""The rule of the journal: one recorded answer per numbered call (design: The journal).

A run numbers its calls in the order in which they are made. On a re-run a recorded number returns
its recorded answer, provided it is the same call with the same arguments.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_SHOWN_CHARACTERS = 80
"""Longest value that is quoted; the rest is cut off."""

_FUNCTION = "function"
_PARTS = {
    "step": (_FUNCTION, "arguments", "cost", "keyword arguments"),
    "write": ("path", "contents", "arguments", "cost", "label", "keyword arguments"),
    "progress": ("text",),
    "charge": ("amount", "note"),
    "start": (_FUNCTION, "title", "work", "arguments"),
    "join": ("job", "text"),
    "stop": ("job",),
    "output": ("value",),
}
"""What the parts of a call's summary are, by the name of the method."""


class CallState(StrEnum):
    """How far a call got."""

    HELD = "held"  # its cost is held, the body may have started
    DONE = "done"
    ERROR = "error"  # the body raised; a re-run raises the same again
    OWED = "owed"  # not a call: charges of the one numbered -n that found no credits yet


_ANSWERED = (CallState.DONE, CallState.ERROR)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Call ``n`` of a run is not the recorded one. ``recorded`` and ``current`` name the two by
    method and function, ``differs`` what about them is different, without values; ``cause`` says
    all that in a sentence, values included."""

    n: int
    recorded: str
    current: str
    differs: str
    cause: str

    @property
    def waiting_text(self) -> str:
        """What the log of a message says of a job that waits because of it."""
        return (
            f"Waits for its code, which changed: call {self.n} was {self.recorded} and is now"
            f" {self.current}; {self.differs} differ. The work goes on when the code makes that"
            " call."
        )


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded call: its fingerprint names the method and its arguments, its summary is the
    beginning of the text that the fingerprint was made of."""

    n: int
    fingerprint: str
    state: CallState
    value: str
    summary: str = ""


def find_recorded(
    call: Call | None, fingerprint: str, summary: str = ""
) -> Call | Divergence | None:
    """The record to answer from, None when the body has to run, or how a re-run made another call,
    or with other arguments, than the one recorded."""
    if call is None:
        return None
    if call.fingerprint != fingerprint:
        return compare(call.n, call.summary, summary)
    return None if call.state is CallState.HELD else call


def left_out(calls: Iterable[Call], call_count: int) -> Divergence | None:
    """How a run that returned after ``call_count`` calls differs from its record, which has more of
    them; None when it has not. A call that is only held was never done."""
    more = [call for call in calls if call.n > call_count and call.state in _ANSWERED]
    if not more:
        return None
    first = min(more, key=lambda call: call.n)
    name = name_of(first.summary)
    cause = (
        f"call {first.n} was {name}, the re-run ended without it: it made {call_count} of"
        f" {max(call.n for call in more)} recorded calls"
    )
    return Divergence(first.n, name, "none", "the number of calls", cause)


# --- how two calls differ -------------------------------------------------------------------------
def compare(number: int, recorded: str, current: str) -> Divergence:
    """The two calls by their summaries (`values.identify`), which may have been cut. ``recorded``
    is empty for a call that an earlier version recorded."""
    before, after = _parse(recorded), _parse(current)
    names = _name(recorded, before), _name(current, after)
    if before is None or after is None or before[0] != after[0]:
        differs = "the call" if names[0] != names[1] else "the arguments"
        values = f"recorded {_cut(recorded) or 'unknown'}, made {_cut(current)}"
    else:
        parts = list(_differences(before, after))
        differs = " and ".join(f"the {part}" for part, _, _ in parts) or "the arguments"
        values = "; ".join(f"{p}: recorded {_quote(a)}, made {_quote(b)}" for p, a, b in parts)
    cause = f"call {number} was {names[0]}, the re-run made {names[1]}; {differs} differ: {values}"
    return Divergence(number, *names, differs, cause)


def _differences(before: list[Any], after: list[Any]) -> list[tuple[str, Any, Any]]:
    labels = _PARTS.get(before[0], ())
    differences = []
    for n in range(1, max(len(before), len(after))):
        a = before[n] if n < len(before) else None
        b = after[n] if n < len(after) else None
        if a != b:
            differences.append((labels[n - 1] if n <= len(labels) else f"part {n}", a, b))
    return differences


def name_of(summary: str) -> str:
    """A recorded call by its method and function, such as ``step agent:chart``."""
    return _name(summary, _parse(summary))


def _name(summary: str, parsed: list[Any] | None) -> str:
    if parsed is None:
        method = re.match(r'\["(\w+)"(?:,"([\w.:]+)")?', summary)
        if method is None:
            return "an unknown call"
        parsed = [group for group in method.groups() if group]
    has_function = _PARTS.get(parsed[0], ("",))[0] == _FUNCTION and len(parsed) > 1
    return f"{parsed[0]} {parsed[1]}" if has_function else str(parsed[0])


def _parse(summary: str) -> list[Any] | None:
    try:
        value = json.loads(summary)
    except ValueError:  # cut, or never recorded
        return None
    return value if isinstance(value, list) and value else None


def _quote(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
