"""The ten rules of a message's status, each by its number, and all of them over all small cases.

spec: Message status. The oracle below is the spec's table written once more over public statuses,
as a chain of ifs: it shares no line with the implementation.
"""

from collections.abc import Sequence
from itertools import product

import pytest

from agentpost.jobs.rules import VIEWS, JobState, JobStatus, Reason
from agentpost.messages.rules import TurnState
from agentpost.messages.status_rules import Derived, JobFacts, derive

COMPLETED, FAILED, STOPPED = JobState.COMPLETED, JobState.FAILED, JobState.STOPPED
RUNNING, QUEUED, REFUSED = JobState.RUNNING, JobState.QUEUED, JobState.REFUSED
OVERDUE, QUEUE_EXPIRED = JobState.OVERDUE, JobState.QUEUE_EXPIRED

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
    reason = Reason.TOO_MANY_RUNNING if state is REFUSED else VIEWS[state].reason
    return JobFacts(state, reason, question)


def status_at_end(*states: JobState, question: str | None = None) -> Derived:
    return derive(TurnState.ENDED, question, [facts(state) for state in states])


def facts_of(derived: Derived) -> tuple[int, str, str | None, bool]:
    return derived.rule, derived.status, derived.reason, derived.final


@pytest.mark.rule("Job.status", "Job.reason", "Job.final")
@pytest.mark.parametrize("state", list(JobState))
def test_a_client_sees_the_public_form_of_each_state(state: JobState) -> None:
    view = VIEWS[state]
    assert (view.status, view.reason, view.final) == PUBLIC[state]
    assert view.queued == (state is JobState.QUEUED)


@pytest.mark.rule("Message status 1")
@pytest.mark.parametrize("turn", [TurnState.WAITING, TurnState.RUNNING])
@pytest.mark.parametrize("states", [(), (COMPLETED,), (FAILED, QUEUED), (REFUSED,)])
def test_rule_1(turn: TurnState, states: tuple[JobState, ...]) -> None:
    """Planning or starting is processing, whatever the jobs are."""
    derived = derive(turn, None, [facts(state) for state in states])
    assert facts_of(derived) == (1, "processing", None, False)


@pytest.mark.rule("Message status 2", "Reasons turn_failed")
@pytest.mark.parametrize(
    ("turn", "reason"), [(TurnState.FAILED, "turn_failed"), (TurnState.BUSY, "agent_busy")]
)
def test_rule_2(turn: TurnState, reason: str) -> None:
    """A failed or busy turn is failed, even if some jobs finished."""
    assert facts_of(derive(turn, None, [])) == (2, "failed", reason, True)
    assert facts_of(derive(turn, None, [facts(COMPLETED)])) == (2, "failed", reason, True)


@pytest.mark.rule("Message.final", "Finality 3")
@pytest.mark.parametrize("state", [RUNNING, QUEUED])
def test_rule_2_is_not_final_while_a_job_is_open(state: JobState) -> None:
    """A failed turn with a job still open can change (design: Status)."""
    derived = derive(TurnState.FAILED, None, [facts(COMPLETED), facts(state)])
    assert facts_of(derived) == (2, "failed", "turn_failed", False)


@pytest.mark.rule("Message status 3")
def test_rule_3() -> None:
    """Any running job is processing, before any question."""
    assert facts_of(status_at_end(COMPLETED, RUNNING, FAILED)) == (3, "processing", None, False)
    asked = status_at_end(RUNNING, question="Which one?")
    assert (asked.rule, asked.question) == (3, None)


@pytest.mark.rule("Message status 4")
def test_rule_4() -> None:
    """A question with nothing running waits for the user."""
    for states in [(), (COMPLETED,), (FAILED,), (REFUSED,)]:
        derived = status_at_end(*states, question="Which one?")
        assert facts_of(derived) == (4, "needs_input", None, True)
        assert derived.question == "Which one?"


@pytest.mark.rule("Message status 5")
def test_rule_5() -> None:
    """No jobs, just a reply."""
    assert facts_of(status_at_end()) == (5, "completed", None, True)


@pytest.mark.rule("Message status 6")
def test_rule_6() -> None:
    """Every job completed."""
    assert facts_of(status_at_end(COMPLETED, COMPLETED)) == (6, "completed", None, True)


@pytest.mark.rule("Message status 7", "Finality 3")
def test_rule_7() -> None:
    """Every job blocked; not final while one of them waits for credits."""
    assert facts_of(status_at_end(REFUSED)) == (7, "blocked", "too_many_running", True)
    assert facts_of(status_at_end(QUEUED)) == (7, "blocked", "out_of_credits", False)
    assert facts_of(status_at_end(REFUSED, QUEUED)) == (7, "blocked", "too_many_running", False)


@pytest.mark.rule("Message status 8")
def test_rule_8() -> None:
    """Every job expired."""
    assert facts_of(status_at_end(QUEUE_EXPIRED, OVERDUE)) == (8, "expired", "queue_expired", True)
    assert facts_of(status_at_end(OVERDUE)) == (8, "expired", "watch_expired", True)


@pytest.mark.rule("Message status 9")
def test_rule_9() -> None:
    """At least one completed and at least one not."""
    assert facts_of(status_at_end(COMPLETED, FAILED)) == (9, "partial", "execution_failed", True)
    assert facts_of(status_at_end(COMPLETED, QUEUED)) == (9, "partial", "out_of_credits", False)
    assert facts_of(status_at_end(OVERDUE, COMPLETED, STOPPED)) == (
        9,
        "partial",
        "watch_expired",
        True,
    )


@pytest.mark.rule("Message status 10")
def test_rule_10() -> None:
    """Otherwise failed, for the reason of the job that failed."""
    assert facts_of(status_at_end(FAILED)) == (10, "failed", "execution_failed", True)
    assert facts_of(status_at_end(STOPPED)) == (10, "failed", "stopped", True)
    assert facts_of(status_at_end(REFUSED, FAILED)) == (10, "failed", "execution_failed", True)
    assert facts_of(status_at_end(QUEUED, STOPPED)) == (10, "failed", "stopped", False)
    assert facts_of(status_at_end(REFUSED, OVERDUE)) == (10, "failed", "too_many_running", True)


def test_the_last_question_is_the_one_asked() -> None:
    """A job's question comes after the turn's, and the last one wins (design: How a job ends)."""
    jobs = [facts(COMPLETED, "A?"), facts(COMPLETED, "B?"), facts(COMPLETED)]
    assert derive(TurnState.ENDED, "T?", jobs).question == "B?"
    assert derive(TurnState.ENDED, "T?", [facts(COMPLETED)]).question == "T?"
    assert derive(TurnState.ENDED, None, jobs).status == "needs_input"


def test_a_question_kept_for_a_recover_is_not_asked_yet() -> None:
    """What expired work still brings appears on recover, not before (design: Expiry and
    recover).
    """
    derived = derive(TurnState.ENDED, None, [facts(JobState.LATE_COMPLETED, "Which one?")])
    assert facts_of(derived) == (8, "expired", "watch_expired", True)
    assert derived.question is None


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
        assert derived.final == (QUEUED not in states), states
