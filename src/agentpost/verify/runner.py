"""Carrying out the checks, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agentpost.verify.check import Check, Group
from agentpost.verify.probe import Probe
from agentpost.verify.verdicts import Difference, Gone, NotChecked, summary


class Outcome(StrEnum):
    """How a check ended."""

    PROVED = "proved"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a check. ``why``: why it was not checked; the others tell of a failure."""

    group: Group
    check: Check
    outcome: Outcome
    seconds: float
    why: str = ""
    expected: str = ""
    got: str = ""
    request: str = ""
    request_id: str | None = None


class Unusable(Exception):
    """The deployment cannot be visited at all; the text says why."""


def knock(probe: Probe) -> None:
    """Look whether somebody is there who knows the keys; raises `Unusable`."""
    callers = [("key", probe.caller)] + ([("second key", probe.second)] if probe.has_second else [])
    for name, caller in callers:
        try:
            exchange = caller.call("GET", "/v1/me")
        except (Gone, NotChecked) as error:
            raise Unusable(str(error)) from None
        except Difference as error:
            raise Unusable(f"{caller.url} gives no answer: {error.got}") from None
        if exchange.status == 401:
            raise Unusable(f"the {name} is refused: it is unknown, expired or revoked")
        if exchange.status != 200 or not isinstance(exchange.json(), dict):
            raise Unusable(f"{caller.url}/v1/me is not this API: it answers {summary(exchange)}")


def run(probe: Probe, groups: Sequence[Group]) -> Iterator[Result]:
    """Carry out the checks in their order, each result as it comes.

    Once nothing answers any more (``probe.gone``), the rest is not checked.
    """
    gone = ""
    for group in groups:
        for check in group.checks:
            if probe.gone:
                yield Result(group, check, Outcome.NOT_CHECKED, 0, why=gone)
                continue
            result = _carry_out(probe, group, check)
            gone = result.why
            yield result


def _carry_out(probe: Probe, group: Group, check: Check) -> Result:
    began = time.monotonic()

    def ended(outcome: Outcome, why: str = "") -> Result:
        return Result(group, check, outcome, time.monotonic() - began, why=why)

    try:
        check.run(probe)
    except Difference as error:
        exchange = error.exchange
        return Result(
            group,
            check,
            Outcome.FAILED,
            time.monotonic() - began,
            expected=error.expected,
            got=error.got,
            request=exchange.line if exchange is not None else "",
            request_id=exchange.request_id if exchange is not None else None,
        )
    except NotChecked as error:
        probe.gone = isinstance(error, Gone)
        return ended(Outcome.NOT_CHECKED, str(error))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # An answer so unlike the API's that the check tripped over it: its shape is judged by
        # another check, and nothing is proved.
        why = f"an answer could not be read ({type(error).__name__}: {error})"
        return ended(Outcome.NOT_CHECKED, why)
    return ended(Outcome.PROVED)
