"""When a schedule runs: cron expressions in a time zone (design: Schedules)."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from agentpost.domain.times import SECOND

CRON_FIELDS = 5
YEARS_MAX = 8
"""Leap days are up to eight years apart; what does not come by then never comes."""


def check(cron: str, timezone: str, now: int) -> None:
    """Raise `ValueError`, saying why, for an expression that cannot be used, or never comes."""
    if len(cron.split()) != CRON_FIELDS:
        raise ValueError("must have five fields: minute, hour, day of month, month, day of week")
    if next_after(cron, timezone, now) is None:
        raise ValueError(f"must come at least once in {YEARS_MAX} years")


def is_timezone(name: str) -> bool:
    """Whether it is the name of an IANA time zone."""
    return name in _timezones()


@cache
def _timezones() -> frozenset[str]:
    """All names; finding them walks some hundred files."""
    return frozenset(available_timezones())


def newest_times(cron: str, timezone: str, until: int, count: int) -> list[int]:
    """The last ``count`` times up to ``until``, newest first, in microseconds."""
    start = datetime.fromtimestamp(until // SECOND + 1, UTC).astimezone(ZoneInfo(timezone))
    times = islice(CronSim(cron, start, reverse=True), count)
    return [round(time.timestamp()) * SECOND for time in times]


def in_words(cron: str) -> str:
    """What an expression says, in English; the expression itself where nobody can say it."""
    try:
        words: str = CronSim(cron, datetime.fromtimestamp(0, UTC)).explain()
    except (CronSimError, ValueError):
        return cron
    return words


def next_after(cron: str, timezone: str, after: int) -> int | None:
    """The first time later than ``after``, both in microseconds since 1970 UTC; None: never.

    A time that the clocks skip comes when they have moved on; one that they show twice comes once,
    the first time, unless the expression is of every hour. Raises `ValueError` for a bad
    expression.
    """
    start = datetime.fromtimestamp(after // SECOND, UTC)
    try:
        moment = next(CronSim(cron, start.astimezone(ZoneInfo(timezone))), None)
    except CronSimError as error:
        raise ValueError(str(error)) from None
    if moment is None or moment - start > timedelta(days=366 * YEARS_MAX):
        return None
    return round(moment.timestamp()) * SECOND


def last_before(cron: str, timezone: str, since: int, until: int) -> tuple[int, int]:
    """Of the times from ``since``, which is one, to ``until``: the last one, and how many there
    are. Counts at most `COUNTED_MAX` of them, then the last may be an earlier one."""
    last, count = since, 1
    while count < COUNTED_MAX:
        moment = next_after(cron, timezone, last)
        if moment is None or moment > until:
            break
        last, count = moment, count + 1
    return last, count


COUNTED_MAX = 2_000
