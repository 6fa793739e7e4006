"""When cron expressions come: clocks that are put forward and back, leap days, ends of months."""

from datetime import UTC, datetime

import pytest

from agentpost.domain.times import iso, parse_iso
from agentpost.schedules import recurrence

BERLIN = "Europe/Berlin"
TIMES = [
    # the clocks go from 2:00 to 3:00 on 29 March: what would be skipped comes at 3:00
    ("30 2 * * *", BERLIN, "2026-03-28T12:00+01:00", ["2026-03-29T03:00+02:00"]),
    ("30 2 * * *", BERLIN, "2026-03-29T04:00+02:00", ["2026-03-30T02:30+02:00"]),
    (
        "0,30 * * * *",
        BERLIN,
        "2026-03-29T01:10+01:00",
        ["2026-03-29T01:30+01:00", "2026-03-29T03:00+02:00"],
    ),
    # from 3:00 back to 2:00 on 25 October: a daily run comes once, an hourly one each hour
    (
        "30 2 * * *",
        BERLIN,
        "2026-10-24T12:00+02:00",
        ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
    ),
    (
        "30 * * * *",
        BERLIN,
        "2026-10-25T02:00+02:00",
        ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-10-25T03:30+01:00"],
    ),
    # elsewhere in the world
    ("0 9 * * 1-5", "Asia/Kolkata", "2026-11-20T12:00+05:30", ["2026-11-23T09:00+05:30"]),
    ("0 0 * * *", "Australia/Lord_Howe", "2026-10-03T12:00+10:30", ["2026-10-04T00:00+10:30"]),
    # leap days and the ends of months
    ("0 0 29 2 *", "UTC", "2026-01-01T00:00Z", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
    ("0 0 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T00:00Z"]),
    ("0 0 31 * *", "UTC", "2026-01-31T00:00Z", ["2026-03-31T00:00Z", "2026-05-31T00:00Z"]),
    ("0 0 L * *", "UTC", "2026-01-31T00:00Z", ["2026-02-28T00:00Z", "2026-03-31T00:00Z"]),
    # a time that is one of them is not later than itself
    ("* * * * *", "UTC", "2026-01-31T00:00Z", ["2026-01-31T00:01Z"]),
    ("0 * * * *", "UTC", "2026-12-31T23:59:59.999999Z", ["2027-01-01T00:00Z"]),
]


@pytest.mark.rule("Additions createSchedule-times")
@pytest.mark.parametrize(("cron", "timezone", "after", "expected"), TIMES)
def test_the_times_of_an_expression(
    cron: str, timezone: str, after: str, expected: list[str]
) -> None:
    at = parse_iso(after)
    for wanted in expected:
        found = recurrence.next_after(cron, timezone, at)
        assert found is not None
        assert iso(found) == iso(parse_iso(wanted))
        at = found


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "0 * * * * *", "60 * * * *", "0 0 30 2 *", "a b c d e", "@daily"]
)
def test_an_expression_that_cannot_be_used_is_refused(cron: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        recurrence.check(cron, "UTC", parse_iso("2026-01-01T00:00Z"))


def test_time_zones_have_the_names_of_iana() -> None:
    names = [BERLIN, "UTC", "Berlin", "", "../etc/passwd", "+02:00"]
    assert [recurrence.is_timezone(name) for name in names] == [True, True, *[False] * 4]


def test_missed_times_are_counted_up_to_a_limit() -> None:
    day = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
    hour = 3_600 * 1_000_000
    last, count = recurrence.last_before("0 * * * *", "UTC", day, day + 5 * hour + 1)
    assert (last, count) == (day + 5 * hour, 6)
    _, most = recurrence.last_before("* * * * *", "UTC", day, day + 100 * 24 * hour)
    assert most == recurrence.COUNTED_MAX


def test_the_names_of_time_zones_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert recurrence.is_timezone(BERLIN)

    def again() -> set[str]:
        raise AssertionError("it walks hundreds of files")

    monkeypatch.setattr(recurrence, "available_timezones", again)
    assert recurrence.is_timezone("UTC")
    assert not recurrence.is_timezone("Europe/Nowhere")
