"""What a check is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import Probe
from agentpost.verify.shapes import Kind, problems
from agentpost.verify.verdicts import require


@dataclass(frozen=True, slots=True)
class Check:
    """One rule and how it is tried.

    Args:
        name: what it is called by, unique in its group.
        proves: the rule, as a sentence for a person.
        source: section and number of the rule in the API's specification, or `ADDITION`.
        run: carries it out; returns when the rule holds, raises `NotProved` otherwise.
    """

    name: str
    proves: str
    source: str
    run: Callable[[Probe], None]


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one subject.

    Args:
        sends: names of the messages it needs; groups share those of one name.
        needs: what must be given for any of its messages to be sent.
    """

    name: str
    about: str
    checks: tuple[Check, ...]
    sends: tuple[str, ...] = ()
    needs: Literal["nothing", "hooks", "second key"] = "nothing"


def planned(groups: Sequence[Group], given: Collection[str]) -> int:
    """How many messages these groups send; ``given``: which of the needs are met."""
    sent = [g.sends for g in groups if g.needs == "nothing" or g.needs in given]
    return len({name for names in sent for name in names})


ADDITION = "addition"
"""The source of a rule that agentpost adds: where a deployment lacks it, it is not checked."""


def shaped(exchange: Exchange, kind: Kind, value: object) -> None:
    """Raise a `Difference` that names the first fields which are not what they must be."""
    found = list(problems(kind, value))
    require(exchange, not found, "the fields of the resource", "; ".join(found[:3]))
