"""The page of credits: what there is, what was used, the ledger, and nobody else's."""

import asyncio
import csv
import re
from typing import Any

import pytest

from agentpost.accounts import actions as accounts, rows as account_rows
from agentpost.clock import new_id
from agentpost.credits import usage
from agentpost.credits.rules import UsageLine
from agentpost.credits.usage import Statement
from agentpost.domain import ids
from agentpost.domain.times import DAY, HOUR
from agentpost.jobs.rules import JobState
from agentpost.record.records import LedgerRecord, WorkRecord
from agentpost.web.chart import bars
from tests.web.site import Site

PATH = "/dashboard/credits"
CREDIT = 1_000_000


def line(
    site: Site, kind: str, amount: float, *, ago: int = 0, job: str | None = None, **fields: Any
) -> str:
    site.clock.advance(0.001)
    at = site.clock.now() - ago
    given = {"account_id": site.ann, "note": "", **fields}
    record = LedgerRecord(
        new_id(ids.LEDGER, at), kind=kind, amount=round(amount * CREDIT), at=at, job_id=job, **given
    )
    site.write(lambda tx: account_rows.LEDGER.insert(tx, record))
    return record.id


def job_of(site: Site, work: WorkRecord, message_id: str = "msg_1") -> str:
    site.job(work, JobState.COMPLETED)
    sql = "UPDATE jobs SET message_id = ? WHERE work_id = ? RETURNING id"
    found: str = site.write(lambda tx: tx.all(sql, (message_id, work.id))[0][0])
    return found


def read(site: Site, **given: Any) -> Statement:
    return asyncio.run(usage.statement(site.ctx, site.ann, **given))


def test_the_ledger_says_what_each_line_was_for(site: Site) -> None:
    work = site.work(title="A <b>chart</b>")
    site.message("m", id="msg_kept")
    line(site, "charge", 1.25, job=job_of(site, work, "msg_kept"), note="two pages")
    line(site, "charge", 1, job=job_of(site, site.work(), "msg_expired"))
    line(site, "charge", 2, job="exe_gone")
    line(site, "hold", 0.5, job="exe_gone")
    line(site, "grant", -3, note="a mistake")
    with site.browser() as browser:
        page, everything = browser.get(PATH).text, browser.get(f"{PATH}?all=").text
    assert f'href="/chat/{work.id}">' in page
    assert 'href="/dashboard/messages/msg_kept">' in page
    assert "msg_expired" not in page
    for text in ("A &lt;b&gt;chart&lt;/b&gt;", "two pages", "Deleted chat", "a mistake"):
        assert text in page
    amounts = re.findall(r'class="amount[ a-z]*">(.*?)<', page)
    assert amounts == ["−3.00", "−2.00", "−1.00", "−1.25", "+12.50"]
    assert "0.5 held" in everything
    assert "0.5 held" not in page


def test_what_is_held_is_not_available(site: Site) -> None:
    sql = "UPDATE accounts SET held = ? WHERE id = ?"
    site.write(lambda tx: tx.execute(sql, (12_500_000, site.ann)))
    with site.browser() as browser:
        page = browser.get(PATH).text
    assert re.findall(r"<dd>([\d.]+)", page)[:2] == ["0", "12.5"]
    assert "No credits are available" in page
    assert "agentpost credits add ann@example.com" in page


def test_usage_is_counted_by_day_and_by_key(site: Site) -> None:
    key = asyncio.run(accounts.create_key(site.ctx, site.ann, "checkout")).record.id
    work, now = site.work(), site.clock.now()
    for n, sender in enumerate((key, key, site.ann, "key_gone")):
        at = now - n * DAY
        site.message("m", id=f"msg_{at:014x}{n:018x}", key_id=sender, created_at=at)
    mine = job_of(site, work, f"msg_{now:014x}{0:018x}")
    line(site, "charge", 3, job=mine)
    line(site, "charge", 0.5, job=mine, ago=DAY)
    line(site, "charge", 7, job="exe_gone", ago=DAY)
    line(site, "hold", 50, job=mine)
    line(site, "charge", 99, ago=40 * DAY)
    found = read(site).usage
    assert found is not None
    assert [(d.credits, d.charges, d.messages) for d in found.days[-4:]] == [
        (0, 0, 1),
        (0, 0, 1),
        (7.5, 2, 1),
        (3, 1, 1),
    ]
    assert [(k.name, k.key_id, k.credits, k.messages) for k in found.keys] == [
        ("Deleted messages", None, 7, 1),
        ("checkout", key, 3.5, 2),
        ("Web app", None, 0, 1),
    ]
    assert (found.total.credits, found.total.charges, found.total.messages) == (10.5, 3, 4)
    with site.browser() as browser:
        page = browser.get(PATH)
    assert page.text.count('class="bar"') == usage.DAYS
    assert "style=" not in page.text.partition("<main")[2]


def test_a_day_begins_at_midnight(site: Site) -> None:
    midnight = site.clock.now() // DAY * DAY
    site.clock.advance((midnight + DAY + HOUR - site.clock.now()) / 1_000_000)
    line(site, "charge", 1, ago=2 * HOUR)
    found = read(site).usage
    assert found is not None
    assert [day.credits for day in found.days[-2:]] == [1, 0]


@pytest.mark.parametrize(
    ("amounts", "heights"),
    [([0, 0], [0, 0]), ([1, 4], [25, 100]), ([0, 1_000_000, 1], [0, 100, 1.5])],
)
def test_the_chart_is_as_tall_as_its_greatest_day(amounts: list[int], heights: list[float]) -> None:
    made = bars([UsageLine(millionths=each) for each in amounts], lambda used: used.millionths)
    assert [bar.height for bar in made] == heights
    assert all(bar.y + bar.height == 100 for bar in made)


def test_pages_lead_to_older_lines(site: Site) -> None:
    made = [line(site, "charge", n + 1, note=f"line {n:03}") for n in range(60)]
    with site.browser() as browser:
        first = browser.get(f"{PATH}?all=").text
        assert "−60.00<" in first
        assert "−10.00<" not in first
        older = f"{PATH}?all=&amp;before={made[10]}"
        assert older in first
        second = browser.get(older.replace("&amp;", "&")).text
    assert "−10.00<" in second
    assert "opening balance" in second
    assert "Used by day" not in second
    assert "−11.00<" not in second


@pytest.mark.parametrize("query", ["before=x", "before=%00&all", "before=led_"])
def test_an_address_with_odd_values_shows_a_page(site: Site, query: str) -> None:
    with site.browser() as browser:
        assert browser.get(f"{PATH}?{query}").status_code == 200


def test_the_ledger_and_the_usage_are_files(site: Site) -> None:
    job = job_of(site, site.work(title="=cmd()"), "msg_1")
    for n in range(3):
        line(site, "charge", n + 0.25, job=job, note="a, “b”")
    with site.browser() as browser:
        ledger, used = browser.get(f"{PATH}/ledger.csv"), browser.get(f"{PATH}/usage.csv")
    assert ledger.headers["content-type"].startswith("text/csv")
    assert "attachment" in ledger.headers["content-disposition"]
    lines = list(csv.DictReader(ledger.text.splitlines()))
    assert [each["credits"] for each in lines] == ["-2.25", "-1.25", "-0.25", "12.5"]
    assert (lines[0]["title"], lines[0]["note"]) == ("'=cmd()", "a, “b”")
    usage = list(csv.DictReader(used.text.splitlines()))
    assert {each["by"] for each in usage} == {"day", "key", "conversation"}
    assert [each["credits"] for each in usage if each["by"] == "conversation"] == ["3.75"]
    with site.stranger() as stranger:
        assert stranger.get(f"{PATH}/ledger.csv").status_code == 401
