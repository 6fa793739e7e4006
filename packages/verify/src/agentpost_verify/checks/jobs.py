"""Work that a message starts (spec: Job, Message status, recoverMessage).

All of it needs an agent that starts a job when it is asked for a chart of a CSV file, as the
built-in one does.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, Json, expect, expect_shape
from agentpost_verify.checks.events import expect_order, expect_owner
from agentpost_verify.one_answer import one_answer
from agentpost_verify.probe import HOLD_SECONDS, Probe
from agentpost_verify.samples import read_log

EARLY_SECONDS = 0.9
"""An answer that comes this much before its wait is over must have a reason."""


@pytest.fixture(scope="session")
def held_reads(probe: Probe, job_message: Json) -> list[Exchange]:
    """Every answer of reading the job's message until it is final."""
    message = job_message
    reads: list[Exchange] = []
    left = probe.patience
    while message.get("final") is not True:
        if left <= 0:
            pytest.skip(f"the job was not done after {probe.patience:g} s (--timeout)")
        exchange = probe.read(message["id"], HOLD_SECONDS)
        message = exchange.sample()
        reads.append(exchange)
        left -= max(exchange.took, 0.5)
    return reads


test_fields = one_answer(
    "A message with a job has every field, and so has the job. (Job)",
    "200", "GET /v1/messages/{job_message[id]}", shape=shapes.MESSAGE,
)  # fmt: skip


def test_held_until_changed(job_message: Json, held_reads: list[Exchange]) -> None:
    """A held read ends early only when something changed. (getMessage)"""
    if not held_reads:
        pytest.skip("the job was done before it could be waited for")
    before = state_of(job_message)
    for exchange in held_reads:
        after = state_of(exchange.json)
        if exchange.took < HOLD_SECONDS - EARLY_SECONDS:
            assert after != before, (
                f"a change, or {HOLD_SECONDS} s of waiting instead of {exchange.took:.1f} s"
            )
        before = after


def state_of(message: Json) -> Any:
    """What ends a held read when it changes."""
    jobs = [(job.get("job_id"), job.get("status")) for job in message.get("jobs") or []]
    return message.get("status"), message.get("reply"), message.get("final"), jobs


@pytest.mark.usefixtures("held_reads")
def test_final_means_all(probe: Probe, job_done: Json) -> None:
    """A message is final when all its jobs are. (Message)"""
    exchange = probe.read(job_done["id"])
    open_jobs = [job.get("job_id") for job in job_done["jobs"] if job.get("final") is not True]
    assert open_jobs == [], f"every job of a final message to be final in {exchange.line}"


def test_status_follows(probe: Probe, job_done: Json) -> None:
    """The status follows from the jobs. (Message status 6-10)"""
    if job_done.get("question") or job_done.get("reason") in ("turn_failed", "agent_busy"):
        pytest.skip(f"the message ended as {job_done.get('status')} for another reason")
    statuses = sorted({str(job.get("status")) for job in job_done["jobs"]})
    expected = status_from(statuses)
    exchange = probe.read(job_done["id"])
    assert job_done.get("status") == expected, (
        f"status {expected} from jobs {statuses} in {exchange.line}"
    )


def status_from(jobs: list[str]) -> str:
    """Rules 6 to 10 of the message's status: every job is final."""
    if len(jobs) == 1 and jobs[0] in ("completed", "blocked", "expired"):
        return jobs[0]
    return "partial" if "completed" in jobs else "failed"


def test_results_in_log(probe: Probe, job_done: Json) -> None:
    """The log has the result of every completed job. (Message event log)"""
    job_ids = jobs_completed(job_done)
    entries, exchange = read_log(probe, job_done["id"])
    results = [
        entry.get("job_id")
        for entry in entries
        if entry.get("type") == "result" and entry.get("outcome") == "completed"
    ]
    assert unique(results) == unique(job_ids), (
        f"a completed result for {sorted(job_ids)} in {exchange.line}"
    )


def jobs_completed(message: Json) -> list[str]:
    """The ids of the completed jobs; skips when there is none."""
    jobs = [str(job["job_id"]) for job in message["jobs"] if job.get("status") == "completed"]
    if not jobs:
        pytest.skip("no job was completed")
    return jobs


def unique(ids: Iterable[object]) -> list[str]:
    """Each id once, in order."""
    return sorted(set(map(str, ids)))


def test_log_in_order(probe: Probe, job_done: Json) -> None:
    """The log of work is in order, and of this message. (Message event log)"""
    log = read_log(probe, job_done["id"])
    expect_order(log)
    expect_owner(log, job_done["id"])


def test_files_agree(probe: Probe, job_done: Json) -> None:
    """A message lists every file of its jobs. (Message)"""
    exchange = probe.read(job_done["id"])
    of_message = {file.get("file_id") for file in job_done["files"]}
    of_jobs = {file.get("file_id") for job in job_done["jobs"] for file in job.get("files") or []}
    assert unique(of_jobs - of_message) == [], (
        f"the message to list every file of its jobs in {exchange.line}"
    )


def test_recover_settled(probe: Probe, job_done: Json) -> None:
    """Recovering settled work changes nothing. (recoverMessage)"""
    if any(job.get("status") == "expired" for job in job_done["jobs"]):
        pytest.skip("the job expired")
    exchange = probe.call("POST", f"/v1/messages/{job_done['id']}/recover")
    recovery = expect_shape(exchange, shapes.RECOVERY)
    states = unique(work["state"] for work in recovery["work"])
    assert states in (["settled"], []), "nothing but settled work"
    exchange = probe.read(job_done["id"])
    message = expect(exchange, "200")
    state = (message["status"], message["final"])
    assert state == (job_done["status"], job_done["final"]), "the message as it was"


test_recover_unknown = one_answer(
    "Recovering an unknown message is not_found. (recoverMessage)",
    "404 not_found", "POST /v1/messages/msg_{nonce}/recover",
)  # fmt: skip
