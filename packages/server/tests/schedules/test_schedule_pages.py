"""Schedules in the dashboard: made, paused, deleted, and what became of their runs."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from agentpost.accounts import actions as accounts
from agentpost.audit import actions as audit
from agentpost.limits import allowances
from agentpost.schedules import actions as schedules
from agentpost.schedules.rules import ScheduleStatus
from tests.web.busy import fill
from tests.web.site import Site, open_site

PATH = "/dashboard/schedules"
GOOD = {"message": "the report", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}


@pytest.fixture
def key(site: Site) -> str:
    return asyncio.run(accounts.create_key(site.ctx, site.ann, "nightly")).record.id


def test_a_schedule_is_made_paused_resumed_and_deleted(site: Site, key: str) -> None:
    with site.browser() as browser:
        empty = browser.get(PATH).text
        assert "No schedules yet" in empty
        assert f"{site.ctx.settings.public_url}/v1/schedules" in empty
        made = browser.post(PATH, data={**GOOD, "key": key}).headers["location"]
        one = made.partition("?")[0]
        page = browser.get(made).text
        for text in ("Schedule created.", "At 09:00 on Monday through Friday", "nightly"):
            assert text in page
        listed = browser.get(PATH).text
        assert "the report" in listed
        assert "active" in listed
        site.clock.advance(1)
        browser.post(f"{one}/pause", data={"to": "paused"})
        site.clock.advance(1)
        paused = browser.get(one).text
        assert "paused" in paused
        assert "Resume" in paused
        browser.post(f"{one}/pause", data={"to": "active"})
        assert "Pause" in browser.get(one).text
        site.clock.advance(1)
        assert browser.post(f"{one}/delete").headers["location"] == f"{PATH}?note=deleted"
        assert browser.get(one).status_code == 404
    found, _ = asyncio.run(audit.page(site.ctx))
    schedule_id = one.rpartition("/")[2]
    recorded = [(e.action, e.target, json.loads(e.detail_json)) for e in reversed(found)]
    of = {"account_id": site.ann}
    new = {"key": key, "cron": GOOD["cron"], "timezone": GOOD["timezone"]}
    assert [each for each in recorded if each[0].startswith("schedules")] == [
        ("schedules create", "", {**of, **new}),
        ("schedules pause", schedule_id, {**of, "to": "paused"}),
        ("schedules pause", schedule_id, {**of, "to": "active"}),
        ("schedules delete", schedule_id, of),
    ]


def test_a_single_time_is_of_the_time_zone_that_was_chosen(site: Site, key: str) -> None:
    sent = {"message": "once", "at": "2030-07-01T09:00", "timezone": "Europe/Berlin", "key": key}
    with site.browser() as browser:
        one = browser.post(PATH, data=sent).headers["location"].partition("?")[0]
    schedule = asyncio.run(schedules.get(site.ctx, site.ann, one.rpartition("/")[2]))
    assert schedule.status is ScheduleStatus.ACTIVE
    assert schedule.next_at == 1_909_119_600_000_000  # 07:00 UTC


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cron": ""}, "Enter when it repeats"),
        ({"cron": "9"}, "Must have five fields"),
        ({"cron": "", "at": "soon"}, "Enter a time such as"),
        ({"conversation": "c" * 129}, "128 characters"),
        ({"message": " "}, "Give the message of the schedule a text."),
        ({"key": "key_1"}, "Choose a key that works"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    site: Site, key: str, change: dict[str, str], said: str
) -> None:
    with site.browser() as browser:
        answer = browser.post(PATH, data={**GOOD, "key": key, **change})
    assert answer.status_code == 422
    assert said in answer.text
    if "message" not in change:
        assert "the report" in answer.text


@pytest.mark.parametrize("is_of_server", [True, False])
def test_a_schedule_names_its_conversation_where_one_is_required(
    tmp_path: Path, is_of_server: bool
) -> None:
    """By the setting, or by the limits of the account."""
    with open_site(tmp_path, conversation_required=is_of_server) as site:
        limits = {} if is_of_server else {"conversation_required": 1}
        asyncio.run(allowances.override(site.ctx, site.ann, limits))
        key = asyncio.run(accounts.create_key(site.ctx, site.ann, "nightly")).record.id
        with site.browser() as browser:
            refused = browser.post(PATH, data={**GOOD, "key": key})
            assert refused.status_code == 422
            match = re.search(r'name="conversation".*?(?=name="|</form>)', refused.text, re.S)
            assert match is not None
            assert "Is required, such as your customer" in match[0]
            assert asyncio.run(schedules.page(site.ctx, site.ann, None, 9))[0] == []
            answer = browser.post(PATH, data={**GOOD, "key": key, "conversation": "customer-1"})
        schedule_id = answer.headers["location"].partition("?")[0].rpartition("/")[2]
        schedule = asyncio.run(schedules.get(site.ctx, site.ann, schedule_id))
        message = {"message": GOOD["message"], "conversation": "customer-1"}
        assert json.loads(schedule.message_json) == message


def test_the_runs_lead_to_their_messages(site: Site) -> None:
    busy = fill(site)
    with site.browser(busy.account) as browser:
        listed = browser.get(PATH).text
        page = browser.get(f"{PATH}/{busy.schedule}").text
    message = f'href="/dashboard/messages/{busy.message}"'
    assert message in listed
    assert message in page
    assert "last run refused" in listed
    with site.browser() as other:
        assert other.get(f"{PATH}/{busy.schedule}").status_code == 404
        assert "Create an API key first" in other.get(PATH).text
