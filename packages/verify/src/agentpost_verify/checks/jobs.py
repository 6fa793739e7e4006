"""Work that a message starts (spec: Job, Message status, recoverMessage).

All of it needs an agent that starts a job when it is asked for a chart of a CSV file, as the
built-in one does.
"""

from typing import Any

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Json
from agentpost_verify.checks.events import expect_order, expect_owner
from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer, read_log

EARLY_SECONDS = 0.9
"""An answer that comes this much before its wait is over must have a reason."""


test_fields = one_answer(
    "A message with a job has every field, and so has the job. (Job)",
    "200", "GET /v1/messages/{job_message[id]}", shape=shapes.MESSAGE,
)  # fmt: skip


def test_held_until_changed(probe: Probe, job_message: Json, job_done: Json) -> None:
    """A held read ends early only when something changed. (getMessage)

    The held reads are those that waited for the message to be final.
    """
    if job_message.get("final") is True:
        pytest.skip("the job was done before it could be waited for")
    path = f"/v1/messages/{job_done['id']}?wait="
    before = state_of(job_message)
    for exchange in [e for e in probe.exchanges if e.path.startswith(path) and e.status == 200]:
        after = state_of(exchange.json)
        seconds = int(exchange.path.removeprefix(path))
        if exchange.took < seconds - EARLY_SECONDS:
            assert after != before, f"a change, or a wait of {seconds} s, not {exchange.took:.1f} s"
        before = after


def state_of(message: Json) -> Any:
    """What ends a held read when it changes."""
    jobs = [(job.get("job_id"), job.get("status")) for job in message.get("jobs") or []]
    return message.get("status"), message.get("reply"), message.get("final"), jobs


def test_final_means_all(job_done: Json) -> None:
    """A message is final when all its jobs are. (Message)"""
    open_jobs = [job.get("job_id") for job in job_done["jobs"] if job.get("final") is not True]
    assert open_jobs == [], f"every job of {job_done['id']} to be final as it is"


def test_status_follows(job_done: Json) -> None:
    """The status follows from the jobs. (Message status 6-10)"""
    status = job_done.get("status")
    if job_done.get("question") or job_done.get("reason") in ("turn_failed", "agent_busy"):
        pytest.skip(f"the message ended as {status} for another reason")
    statuses = sorted({str(job.get("status")) for job in job_done["jobs"]})
    expected = "partial" if "completed" in statuses else "failed"
    if statuses in (["completed"], ["blocked"], ["expired"]):
        expected = statuses[0]
    assert status == expected, f"{expected} from jobs {statuses}"


def test_results_in_log(probe: Probe, job_done: Json) -> None:
    """The log has the result of every completed job. (Message event log)"""
    entries, _ = read_log(probe, job_done["id"])
    results = [entry for entry in entries if entry.get("type") == "result"]
    job_ids = {str(each.get("job_id")) for each in results if each.get("outcome") == "completed"}
    expected = sorted(set(jobs_completed(job_done)))
    assert sorted(job_ids) == expected, f"a completed result for {expected}"


def jobs_completed(message: Json) -> list[str]:
    """The ids of the completed jobs; skips when there is none."""
    jobs = [str(job["job_id"]) for job in message["jobs"] if job.get("status") == "completed"]
    if not jobs:
        pytest.skip("no job was completed")
    return jobs


def test_log_in_order(probe: Probe, job_done: Json) -> None:
    """The log of work is in order, and of this message. (Message event log)"""
    log = read_log(probe, job_done["id"])
    expect_order(log)
    expect_owner(log, job_done["id"])


def test_files_agree(job_done: Json) -> None:
    """A message lists every file of its jobs. (Message)"""
    of_message = {file.get("file_id") for file in job_done["files"]}
    of_jobs = {file.get("file_id") for job in job_done["jobs"] for file in job.get("files") or []}
    assert list(of_jobs - of_message) == [], f"{job_done['id']} to list every file of its jobs"


def test_recover_settled(probe: Probe, job_done: Json) -> None:
    """Recovering settled work changes nothing. (recoverMessage)"""
    if any(job.get("status") == "expired" for job in job_done["jobs"]):
        pytest.skip("the job expired")
    exchange = probe.call("POST", f"/v1/messages/{job_done['id']}/recover")
    works = exchange.expect("200", shape=shapes.RECOVERY)["work"]
    assert {work["state"] for work in works} <= {"settled"}, "nothing but settled work"
    message = probe.read(job_done["id"]).expect("200")
    state = (message["status"], message["final"])
    assert state == (job_done["status"], job_done["final"]), "the message as it was"


test_recover_unknown = one_answer(
    "Recovering an unknown message is not_found. (recoverMessage)",
    "404 not_found", "POST /v1/messages/msg_{nonce}/recover",
)  # fmt: skip
