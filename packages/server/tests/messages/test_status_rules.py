"""The ten rules of a message's status over all small cases.

spec: Message status. The oracle below is the spec's table written once more over public statuses,
as a chain of ifs: it shares no line with the implementation.
"""

from collections.abc import Sequence
from itertools import product

import pytest

from agentpost.jobs.rules import VIEWS, JobState, JobStatus, Reason
from agentpost.messages.rules import TurnState
from agentpost.messages.status_rules import Derived, JobFacts, derive

PUBLIC = {
    JobState.RUNNING: ("running", None, False),
    JobState.QUEUED: ("blocked", "out_of_credits", False),
    JobState.REFUSED: ("blocked", None, True),
    JobState.COMPLETED: ("completed", None, True),
    JobState.FAILED: ("failed", "execution_failed", True),
    JobState.STOPPED: ("cancelled", "stopped", True),
    JobState.QUEUE_EXPIRED: ("expired", "queue_expired", True),
    JobState.OVERDUE: ("expired", "watch_expired", True),
    JobState.LATE_COMPLETED: ("expired", "watch_expired", True),
    JobState.LATE_FAILED: ("expired", "watch_expired", True),
    JobState.LOST: ("expired", "watch_expired", True),
    JobState.UNKNOWN: ("expired", "result_unknown", True),
}


def facts(state: JobState, question: str | None = None) -> JobFacts:
    """A job as the record hands it to the rules; a refusal has its reason of its own."""
    is_refused = state is JobState.REFUSED
    return JobFacts(state, Reason.TOO_MANY_RUNNING if is_refused else VIEWS[state].reason, question)


@pytest.mark.rule("Job.status", "Job.reason", "Job.final")
@pytest.mark.parametrize("state", list(JobState))
def test_a_client_sees_the_public_form_of_each_state(state: JobState) -> None:
    view = VIEWS[state]
    assert (view.status, view.reason, view.final) == PUBLIC[state]
    assert view.queued == (state is JobState.QUEUED)


def test_the_last_question_is_the_one_asked() -> None:
    """A job's question comes after the turn's, and the last one wins (design: How a job ends)."""
    plain = facts(JobState.COMPLETED)
    jobs = [facts(JobState.COMPLETED, "A?"), facts(JobState.COMPLETED, "B?"), plain]
    assert derive(TurnState.ENDED, "T?", jobs).question == "B?"
    assert derive(TurnState.ENDED, "T?", [plain]).question == "T?"
    assert derive(TurnState.ENDED, None, jobs).status == "needs_input"


def test_a_question_kept_for_a_recover_is_not_asked_yet() -> None:
    """What expired work still brings appears on recover, not before (design: Expiry and
    recover).
    """
    derived = derive(TurnState.ENDED, None, [facts(JobState.LATE_COMPLETED, "Which one?")])
    assert (derived.rule, derived.reason, derived.question) == (8, "watch_expired", None)


# --- every small case -----------------------------------------------------------------------------
def oracle(turn: TurnState, asked: bool, statuses: Sequence[str]) -> tuple[int, str]:
    """The spec's table, first match wins."""
    if turn in {TurnState.WAITING, TurnState.RUNNING}:
        return 1, "processing"
    if turn in {TurnState.FAILED, TurnState.BUSY}:
        return 2, "failed"
    if "running" in statuses:
        return 3, "processing"
    if asked:
        return 4, "needs_input"
    if not statuses:
        return 5, "completed"
    for rule, status in [(6, "completed"), (7, "blocked"), (8, "expired")]:
        if set(statuses) == {status}:
            return rule, status
    return (9, "partial") if "completed" in statuses else (10, "failed")


def reason_of(turn: TurnState, status: str, jobs: Sequence[JobFacts]) -> str | None:
    """That of the first job that explains the status."""
    if turn is TurnState.FAILED:
        return "turn_failed"
    if turn is TurnState.BUSY:
        return "agent_busy"
    if status not in {"blocked", "failed", "partial", "expired"}:
        return None
    wanted = {"failed": {"failed", "cancelled"}}.get(status, {s.value for s in JobStatus})
    explaining = [j for j in jobs if j.status in wanted and j.status != "completed"] or jobs
    return explaining[0].reason


@pytest.mark.rule(
    "Message.status",
    "Message.reason",
    "Message.final",
    "Message status first-match",
    "Message status 1",
    "Message status 2",
    "Message status 3",
    "Message status 4",
    "Message status 5",
    "Message status 6",
    "Message status 7",
    "Message status 8",
    "Message status 9",
    "Message status 10",
    "Reasons turn_failed",
    "Finality 1",
    "Finality 2",
    "Finality 3",
)
@pytest.mark.parametrize("turn", list(TurnState))
@pytest.mark.parametrize("asked", [None, "Which one?"])
def test_all_cases_of_up_to_three_jobs(turn: TurnState, asked: str | None) -> None:
    """For every order of up to three inner states."""
    for count in range(4):
        for states in product(JobState, repeat=count):
            jobs = [facts(state) for state in states]
            derived = derive(turn, asked, jobs)
            statuses = [PUBLIC[state][0] for state in states]
            assert (derived.rule, derived.status) == oracle(turn, bool(asked), statuses), states
            assert derived.reason == reason_of(turn, derived.status, jobs), states
            assert (derived.question is not None) == (derived.rule == 4), states
            closed = turn not in {TurnState.WAITING, TurnState.RUNNING}
            assert derived.final == (closed and all(PUBLIC[s][2] for s in states)), states
            check_finality(derived, states)


def check_finality(derived: Derived, states: Sequence[JobState]) -> None:
    """What each status says of it."""
    if derived.status == "processing":
        assert not derived.final, states
    if derived.status in {"completed", "expired"}:
        assert derived.final, states
    if derived.status == "needs_input":
        assert derived.final == (JobState.QUEUED not in states), states
