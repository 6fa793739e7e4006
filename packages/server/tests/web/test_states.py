"""Every state and every reason in words: what happened, what to do about it, and Recover."""

import html
import json

import httpx2
import pytest

from agentpost.contract.shape import dumps
from agentpost.db.session import Tx
from agentpost.domain.limits import RECOVER_REQUESTS_MAX
from agentpost.explain.reasons import (
    EXPLANATIONS,
    LASTING_FAILURE,
    RECOVERED_OFTEN,
    TURN_STOPPED,
    Explanation,
)
from agentpost.jobs import work_rows
from agentpost.jobs.rules import VIEWS, JobState, JobStatus, Reason
from agentpost.messages.rules import TURN_FAILURE_TEXTS, TurnFailure, TurnState
from agentpost.record.signals import Failed
from tests.web.site import Site

REFUSALS = (Reason.TOO_MANY_RUNNING, Reason.HOSTING_FEES, Reason.OUT_OF_CREDITS)
STATES = [(state, VIEWS[state].reason) for state in JobState if state is not JobState.REFUSED]
SHOWN = {
    JobStatus.RUNNING: "running",
    JobStatus.COMPLETED: "completed",
    JobStatus.FAILED: "failed",
    JobStatus.CANCELLED: "stopped",
    JobStatus.BLOCKED: "blocked",
    JobStatus.EXPIRED: "expired",
}
RECOVERABLE = {JobState.OVERDUE, JobState.LATE_COMPLETED, JobState.LATE_FAILED, JobState.LOST}


def messaged(site: Site, state: JobState, reason: Reason | None, recover_requests: int = 0) -> str:
    """A message with a job in this state; the id of its work."""
    work = site.work()
    message_id, said = "msg_" + work.id[4:], reason.value if reason else None
    of_job = {"message_id": message_id, "recover_requests": recover_requests}
    job_id = site.job(work, state, None, reason=said, **of_job)
    chat = work.conversation_id
    turn = {"jobs": 1, "turn_no": 1, "turn_state": "ended"}
    site.message("Do it", None, id=message_id, reason=said, conversation_id=chat, **turn)
    joined = {"message_id": message_id, "job_id": job_id, "joined_at": site.clock.now()}
    site.insert("message_jobs", role="execution", **joined)
    return work.id


def has(page: str, explanation: Explanation) -> bool:
    text = html.unescape(page)
    return explanation.what in text and explanation.advice in text


def test_every_reason_says_what_and_what_to_do() -> None:
    explained = [EXPLANATIONS[reason] for reason in Reason]
    sentences = [sentence for each in explained for sentence in (each.what, each.advice)]
    assert [each for each in sentences if not (each[0].isupper() and each.endswith("."))] == []


@pytest.mark.parametrize(
    ("state", "reason"), [*STATES, *((JobState.REFUSED, reason) for reason in REFUSALS)]
)
def test_every_state_of_a_job(
    site: Site, browser: httpx2.Client, state: JobState, reason: Reason | None
) -> None:
    work_id = messaged(site, state, reason)
    word = "not started" if state is JobState.REFUSED else SHOWN[VIEWS[state].status]
    chat = browser.get(f"/chat/{work_id}").text
    message = browser.get(f"/dashboard/messages/msg_{work_id[4:]}").text
    assert f'">{word}</span>' in chat
    ended_without_result = word in ("failed", "stopped")
    assert ('name="text" value="Try again"' in chat) is ended_without_result
    offers = ("/recover", 'value="Try again"', "data-again")
    ended = word not in ("running", "completed", "blocked")
    assert any(offer in chat for offer in offers) is ended
    for page in (chat, message):
        assert ("/recover" in page) is (state in RECOVERABLE)
        if reason is not None:
            assert has(page, EXPLANATIONS[reason])


def test_what_cannot_succeed_is_not_tried_again(site: Site, browser: httpx2.Client) -> None:
    work_id = messaged(site, JobState.FAILED, Reason.EXECUTION_FAILED)
    keep = (
        "INSERT INTO signals (owner, id, at, name, body_json)"
        " SELECT id, 'sig_1', 1, 'Failed', ? FROM jobs WHERE work_id = ?"
    )
    body = dumps(Failed("scan.pdf is damaged.", is_lasting=True))
    site.write(lambda tx: tx.execute(keep, (body, work_id)))
    chat = browser.get(f"/chat/{work_id}").text
    assert 'value="Try again"' not in chat
    assert "data-again" in chat, "it can be changed and sent"
    assert has(chat, LASTING_FAILURE)


def test_each_failed_job_offers_to_try_it_again_until_that_was_done(
    site: Site, browser: httpx2.Client
) -> None:
    first = messaged(site, JobState.FAILED, Reason.EXECUTION_FAILED)
    second = messaged(site, JobState.STOPPED, Reason.STOPPED)

    def join(tx: Tx) -> None:
        row = tx.one("SELECT conversation_id FROM works WHERE id = ?", (first,))
        assert row is not None
        for table in ("messages", "jobs", "works"):
            tx.execute(f"UPDATE {table} SET conversation_id = ?", (row[0],))
        tx.execute("UPDATE jobs SET title = 'A & B'")
        tx.execute("UPDATE messages SET turn_no = 2 WHERE id = ?", (f"msg_{second[4:]}",))
        tx.execute("UPDATE conversations SET turns = 2")

    site.write(join)
    page = html.unescape(browser.get(f"/chat/{first}").text)
    assert page.count('value="Try again: A & B"') == 1
    assert page.count('value="Try again"') == 1
    work = site.write(lambda tx: work_rows.get(tx, first, site.ann))
    assert work is not None
    site.clock.advance(1)
    site.job(work, JobState.RUNNING)
    page = html.unescape(browser.get(f"/chat/{first}").text)
    assert 'value="Try again: A & B"' not in page
    assert page.count("Retried below.") == 1


@pytest.mark.parametrize(
    ("turn", "reason"),
    [(TurnState.BUSY, Reason.AGENT_BUSY), (TurnState.FAILED, Reason.TURN_FAILED)],
)
def test_every_failed_turn(site: Site, turn: TurnState, reason: Reason) -> None:
    details = (None, *TurnFailure) if turn is TurnState.FAILED else (None,)
    for detail in details:
        chat = site.conversation(site.ann)
        entry = {"message_id": "msg_" + chat.id[4:], "body_json": json.dumps({"reason": detail})}
        site.insert("entries", seq=1, at=1, type="turn_failed", **entry)
        site.message(
            "Do it", conversation_id=chat.id, turn_no=1, turn_state=turn.value,
            reason=reason.value, id="msg_" + chat.id[4:],
        )  # fmt: skip
        with site.browser() as browser:
            page = html.unescape(browser.get(f"/chat/{chat.id}").text)
        assert (TURN_FAILURE_TEXTS[detail] if detail else EXPLANATIONS[reason].what) in page
        stopped = detail is TurnFailure.STOPPED
        assert (TURN_STOPPED if stopped else EXPLANATIONS[reason]).advice in page


def test_a_recover_says_what_came_of_it(site: Site, browser: httpx2.Client) -> None:
    runs = messaged(site, JobState.OVERDUE, Reason.WATCH_EXPIRED)
    often = messaged(site, JobState.OVERDUE, Reason.WATCH_EXPIRED, RECOVER_REQUESTS_MAX)
    foreign = messaged(site, JobState.LOST, Reason.WATCH_EXPIRED)
    site.write(
        lambda tx: tx.execute("UPDATE messages SET account_id = 'acc_x' WHERE id LIKE ?",
        ("%" + foreign[4:],))
    )  # fmt: skip
    assert has(browser.get(f"/chat/{often}").text, RECOVERED_OFTEN)
    assert "/recover" not in browser.get(f"/chat/{often}").text

    def recovered(work_id: str, message: str) -> tuple[int, str]:
        answer = browser.post(f"/chat/{work_id}/recover", data={"message": message})
        return answer.status_code, answer.headers.get("location", "")

    assert recovered(runs, "msg_" + often[4:]) == (303, f"/chat/{runs}?note=exhausted")
    message = f"/dashboard/messages/msg_{runs[4:]}"
    answer = browser.post(f"{message}/recover")
    assert answer.headers["location"] == f"{message}?note=recovering"
    shown = browser.get(answer.headers["location"]).text
    assert "is still running" in shown
    assert "/recover" not in shown
    assert recovered(runs, "msg_" + runs[4:])[1].endswith("note=watching")
    for wrong in ("msg_" + foreign[4:], "msg_1", ""):
        assert recovered(runs, wrong)[0] == 404


def test_a_message_is_stopped_by_its_account(site: Site, browser: httpx2.Client) -> None:
    chat = browser.post("/chat", data={"text": "Think"}).headers["location"]
    rows = site.write(lambda tx: tx.all("SELECT id FROM messages"))
    assert browser.post(f"{chat}/stop", data={"message": "msg_1"}).status_code == 404
    assert '"message" value="' in browser.get(chat).text
    assert browser.post(f"{chat}/stop", data={"message": rows[0][0]}).status_code == 303
    page = browser.get(chat).text
    assert has(page, TURN_STOPPED)
    assert "/stop" not in page
