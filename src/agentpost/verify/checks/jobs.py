"""Work that a message starts (spec: Job, Message status, recoverMessage).

All of it needs an agent that starts a job when it is asked for a chart of a CSV file, as the
built-in one does.
"""

from __future__ import annotations

from typing import Any

from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.checks.events import judge_order, judge_owner, log_of
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import HOLD_SECONDS, Probe, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    differs,
    expect_status,
    refused,
    require,
    shown,
)

EARLY_SECONDS = 0.9
"""An answer that comes this much before its wait is over must have a reason."""
Seen = list[tuple[Exchange, Json]]


def held_reads(probe: Probe) -> Seen:
    """Every answer of reading the job's message until it is final; the first is the POST's."""

    def make() -> Seen:
        message = probe.job_message()
        seen: Seen = []
        left = probe.patience
        while message.get("final") is not True:
            if left <= 0:
                raise NotChecked(f"the job was not done after {probe.patience:g} s (--timeout)")
            exchange = probe.read(message["id"], HOLD_SECONDS)
            message = usable(exchange, 200)
            seen.append((exchange, message))
            left -= max(exchange.took, 0.5)
        return seen

    return probe.sample("followed job", make)


def fields(probe: Probe) -> None:
    exchange = probe.read(probe.job_message()["id"])
    shaped(exchange, shapes.MESSAGE, expect_status(exchange, 200))


def held_until_changed(probe: Probe) -> None:
    before = probe.job_message()
    if not held_reads(probe):
        raise NotChecked("the job was done before it could be waited for")
    for exchange, after in held_reads(probe):
        early = exchange.took < HOLD_SECONDS - EARLY_SECONDS
        if early and _waited_for(before) == _waited_for(after):
            reported = f"the same as before after {exchange.took:.1f} s"
            differs(exchange, f"a change, or {HOLD_SECONDS} s of waiting", reported)
        before = after


def _waited_for(message: Json) -> Any:
    """What ends a held read when it changes."""
    jobs = [(job.get("job_id"), job.get("status")) for job in message.get("jobs") or []]
    return message.get("status"), message.get("reply"), message.get("final"), jobs


def final_means_all(probe: Probe) -> None:
    held_reads(probe)
    message = probe.job_done()
    open_jobs = [job.get("job_id") for job in message["jobs"] if job.get("final") is not True]
    exchange = probe.read(message["id"])
    require(exchange, not open_jobs, "every job of a final message to be final", open_jobs)


def status_follows(probe: Probe) -> None:
    message = probe.job_done()
    statuses = {job.get("status") for job in message["jobs"]}
    if message.get("question") or message.get("reason") in ("turn_failed", "agent_busy"):
        raise NotChecked(f"the message ended as {message.get('status')} for another reason")
    expected = _status(statuses)
    exchange = probe.read(message["id"])
    got = message.get("status")
    require(exchange, got == expected, f"status {expected} from jobs {sorted(statuses)}", got)


def _status(jobs: set[Any]) -> str:
    """Rules 6 to 10 of the message's status: every job is final."""
    for one in ("completed", "blocked", "expired"):
        if jobs == {one}:
            return one
    return "partial" if "completed" in jobs else "failed"


def results_in_log(probe: Probe) -> None:
    message = probe.job_done()
    done = {job["job_id"] for job in message["jobs"] if job.get("status") == "completed"}
    if not done:
        raise NotChecked("no job was completed")
    entries, exchange = log_of(probe, message["id"])
    reported = {
        entry.get("job_id")
        for entry in entries
        if entry.get("type") == "result" and entry.get("outcome") == "completed"
    }
    require(
        exchange, reported == done, f"a completed result for {sorted(done)}", shown(list(reported))
    )


def log_in_order(probe: Probe) -> None:
    message_id = probe.job_done()["id"]
    entries, exchange = log_of(probe, message_id)
    judge_order(entries, exchange)
    judge_owner(entries, exchange, message_id)


def files_agree(probe: Probe) -> None:
    message = probe.job_done()
    of_message = {file.get("file_id") for file in message["files"]}
    of_jobs = {file.get("file_id") for job in message["jobs"] for file in job.get("files") or []}
    exchange = probe.read(message["id"])
    missing = sorted(map(str, of_jobs - of_message))
    require(exchange, not missing, "the message to list every file of its jobs", missing)


def recover_settled(probe: Probe) -> None:
    message = probe.job_done()
    if any(job.get("status") == "expired" for job in message["jobs"]):
        raise NotChecked("the job expired")
    exchange = probe.caller.call("POST", f"/v1/messages/{message['id']}/recover")
    recovery = expect_status(exchange, 200)
    shaped(exchange, shapes.RECOVERY, recovery)
    states = {work["state"] for work in recovery["work"]}
    require(exchange, states <= {"settled"}, "nothing but settled work", sorted(states))
    after = expect_status(probe.read(message["id"]), 200)
    same = (after["status"], after["final"]) == (message["status"], message["final"])
    require(exchange, same, "the message as it was", (after["status"], after["final"]))


def recover_unknown(probe: Probe) -> None:
    exchange = probe.caller.call("POST", f"/v1/messages/msg_{probe.nonce}/recover")
    refused(exchange, 404, "not_found")


GROUP = Group(
    "jobs",
    "work that a message starts",
    (
        Check("fields", "A message with a job has every field, and so has the job.", "Job",
              fields),
        Check("held-until-changed", "A held read ends early only when something changed.",
              "getMessage", held_until_changed),
        Check("final-means-all", "A message is final when all its jobs are.", "Message",
              final_means_all),
        Check("status-follows", "The status follows from the jobs.", "Message status 6-10",
              status_follows),
        Check("results-in-log", "The log has the result of every completed job.",
              "Message event log", results_in_log),
        Check("log-in-order", "The log of work is in order, and of this message.",
              "Message event log", log_in_order),
        Check("files-agree", "A message lists every file of its jobs.", "Message", files_agree),
        Check("recover-settled", "Recovering settled work changes nothing.", "recoverMessage",
              recover_settled),
        Check("recover-unknown", "Recovering an unknown message is not_found.",
              "recoverMessage", recover_unknown),
    ),
    sends=("job",),
)  # fmt: skip
