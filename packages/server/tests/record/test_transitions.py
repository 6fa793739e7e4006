"""The tables of turns and jobs, row by row, written down here from the contract.

spec: Transitions; design: Entries and events; Expiry and recover. The
expectations are text of their own, so that a wrong row of the implementation cannot hide in them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from agentpost.domain.errors import RuleBroken
from agentpost.jobs.rules import JobState, Reason
from agentpost.messages.rules import TurnFailure, TurnState
from agentpost.record import signals as s, transitions
from agentpost.record.events import Entry

TURN_SIGNALS: dict[str, s.TurnSignal] = {
    "TurnQueued": s.TurnQueued(),
    "TurnBegun": s.TurnBegun(),
    "TurnReclaimed": s.TurnReclaimed(),
    "BusyTimedOut": s.BusyTimedOut(),
    "BusyRefused": s.BusyRefused(),
    "Resent": s.Resent(),
    "TurnReplied": s.TurnReplied("On it.", None, delivered_sync=True),
    "TurnBroken": s.TurnBroken(TurnFailure.EMPTY),
}
JOB_SIGNALS: dict[str, s.JobSignal] = {
    "Admitted": s.Admitted(),
    "ShortOfCredits": s.ShortOfCredits(7),
    "StartRefused": s.StartRefused(Reason.TOO_MANY_RUNNING),
    "JobReclaimed": s.JobReclaimed(),
    "StepInterrupted": s.StepInterrupted("killed"),
    "Progressed": s.Progressed("Counting"),
    "CodeChanged": s.CodeChanged("Waits"),
    "CodeFits": s.CodeFits(),
    "FileWritten": s.FileWritten("a.csv"),
    "Finished": s.Finished("All done.", None),
    "Failed": s.Failed("No such column."),
    "Stopped": s.Stopped(),
    "CeilingRaised": s.CeilingRaised(),
    "Resumed": s.Resumed(),
    "QueueTimedOut": s.QueueTimedOut(),
    "WatchTimedOut": s.WatchTimedOut(),
    "Recovered": s.Recovered("What was kept."),
}

# from, signal, to, log entry, webhook event; "-" is none (as "from": being made).
TURNS = """
    -        TurnQueued    waiting  -            -
    -        TurnBegun     running  -            -
    waiting  TurnBegun     running  -            -
    waiting  BusyTimedOut  busy     turn_busy    -
    waiting  BusyRefused   busy     turn_busy    -
    waiting  TurnBroken    failed   turn_failed  -
    busy     Resent        waiting  -            -
    running  TurnReclaimed running  -            -
    running  TurnReplied   ended    agent_reply  -
    running  TurnBroken    failed   turn_failed  -
"""
JOBS = """
    -               Admitted        running         -                        -
    -               ShortOfCredits  queued          -                        job.blocked
    -               StartRefused    refused         -                        job.blocked
    running         JobReclaimed    running         -                        -
    running         StepInterrupted running         -                        -
    running         Progressed      running         progress/started         -
    running         CodeChanged     running         progress/started         -
    running         CodeFits        running         -                        -
    running         FileWritten     running         progress/done            -
    running         Finished        completed       result/completed         job.completed
    running         Failed          failed          result/failed            job.failed
    running         ShortOfCredits  queued          result/stalled_credits   job.blocked
    running         Stopped         stopped         state/stopped            job.failed
    running         WatchTimedOut   overdue         state/expired            job.expired
    queued          CeilingRaised   queued          -                        -
    queued          Resumed         running         state/resumed            job.resumed
    queued          Stopped         stopped         state/stopped            job.failed
    queued          QueueTimedOut   queue_expired   state/expired            job.expired
    overdue         JobReclaimed    overdue         -                        -
    overdue         StepInterrupted overdue         -                        -
    overdue         Progressed      overdue         -                        -
    overdue         CodeChanged     overdue         -                        -
    overdue         CodeFits        overdue         -                        -
    overdue         FileWritten     overdue         -                        -
    overdue         Finished        late_completed  -                        -
    overdue         Failed          late_failed     -                        -
    overdue         ShortOfCredits  lost            -                        -
    overdue         Stopped         lost            -                        -
    overdue         Recovered       running         -                        -
    late_completed  Recovered       completed       result/completed         job.completed
    late_failed     Recovered       failed          result/failed            job.failed
    lost            Recovered       unknown         state/unknown            job.expired
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tables above."""

    state: str
    signal: str
    to: str
    entry: str
    event: str

    def __str__(self) -> str:
        return f"{self.state}+{self.signal}"


def rows(table: str) -> list[Row]:
    return [Row(*line.split()) for line in table.strip().splitlines()]


def word(entry: Entry | None) -> str:
    """An entry as the tables above write it: its type and the word its kind turns on."""
    if entry is None:
        return "-"
    turns_on = {"progress": "status", "result": "outcome", "state": "state"}.get(entry.type)
    return f"{entry.type}/{entry.fields[turns_on]}" if turns_on else entry.type.value


def turn(row: Row) -> transitions.Change[TurnState]:
    state = None if row.state == "-" else TurnState(row.state)
    return transitions.fold(state, TURN_SIGNALS[row.signal])


def job(row: Row) -> transitions.Change[JobState]:
    state = None if row.state == "-" else JobState(row.state)
    return transitions.fold(state, JOB_SIGNALS[row.signal])


@pytest.mark.rule("Transitions 12", "Transitions 13")
@pytest.mark.parametrize("row", rows(TURNS), ids=str)
def test_each_row_of_turns(row: Row) -> None:
    change = turn(row)
    assert (change.before or "-", change.after) == (row.state, row.to)
    assert word(change.entry) == row.entry
    assert (change.event or "-") == row.event


@pytest.mark.rule(
    "Transitions 1",
    "Transitions 2",
    "Transitions 3",
    "Transitions 4",
    "Transitions 5",
    "Transitions 6",
    "Transitions 7",
    "Transitions 8",
    "Transitions 9",
    "Transitions 10",
    "Transitions 11",
    "Webhook events job.failed",
)
@pytest.mark.parametrize("row", rows(JOBS), ids=str)
def test_each_row_of_jobs(row: Row) -> None:
    change = job(row)
    assert (change.before or "-", change.after) == (row.state, row.to)
    assert word(change.entry) == row.entry
    assert (change.event or "-") == row.event


def without_row(states: list[str], signals: list[str], table: str) -> list[tuple[str, str]]:
    known = {(row.state, row.signal) for row in rows(table)}
    return [(a, b) for a in ["-", *states] for b in signals if (a, b) not in known]


def refuses(decide: Callable[[Row], object], state: str, signal: str) -> bool:
    """Whether a signal in that state breaks a rule, and the error names the signal."""
    try:
        decide(Row(state, signal, "", "", ""))
    except RuleBroken as error:
        return signal in str(error)
    return False


def test_a_turn_refuses_every_other_signal() -> None:
    others = without_row([t.value for t in TurnState], list(TURN_SIGNALS), TURNS)
    assert [each for each in others if not refuses(turn, *each)] == []


def test_a_job_refuses_every_other_signal() -> None:
    others = without_row([j.value for j in JobState], list(JOB_SIGNALS), JOBS)
    assert [each for each in others if not refuses(job, *each)] == []


def test_the_tables_speak_of_every_signal_and_state() -> None:
    assert {type(signal) for signal in TURN_SIGNALS.values()} == set(s.TurnSignal.__subclasses__())
    assert {type(signal) for signal in JOB_SIGNALS.values()} == set(s.JobSignal.__subclasses__())
    assert {row.to for row in rows(TURNS)} == set(TurnState)
    assert {row.to for row in rows(JOBS)} == set(JobState)


# --- what the entries say -------------------------------------------------------------------------
@pytest.mark.rule("Message event log agent_reply")
@pytest.mark.parametrize(
    ("reply", "question", "text"),
    [
        ("On it.", None, "On it."),
        (None, "Which one?", "Which one?"),
        ("On it.", "Which one?", "On it.\n\nWhich one?"),
    ],
)
def test_agent_reply_says_reply_and_question(
    reply: str | None, question: str | None, text: str
) -> None:
    """Both are shown (design: How a turn ends)."""
    signal = s.TurnReplied(reply, question, delivered_sync=False)
    entry = transitions.fold(TurnState.RUNNING, signal).entry
    assert entry is not None
    assert entry.fields == {"text": text, "delivered_sync": False}
    assert entry.with_files


def test_a_turn_that_said_nothing_has_no_agent_reply() -> None:
    """The entry is for a reply or question; starting work alone is neither (design: Entries and
    events).
    """
    signal = s.TurnReplied(None, None, delivered_sync=True)
    change = transitions.fold(TurnState.RUNNING, signal)
    assert (change.after, change.entry) == (TurnState.ENDED, None)


@pytest.mark.rule("Transitions 13", "Message event log turn_failed")
@pytest.mark.parametrize("detail", list(TurnFailure))
def test_turn_failed_names_its_detail(detail: TurnFailure) -> None:
    entry = transitions.fold(TurnState.RUNNING, s.TurnBroken(detail)).entry
    assert entry is not None
    assert entry.fields["reason"] == detail.value
    assert entry.fields["text"]


@pytest.mark.rule("Message event log turn_busy")
def test_turn_busy_names_its_reason() -> None:
    entry = transitions.fold(TurnState.WAITING, s.BusyTimedOut()).entry
    assert entry is not None
    assert entry.fields["reason"] == "agent_busy"
    assert set(entry.fields) == {"reason", "text"}


@pytest.mark.rule("Message event log progress", "Message event log result")
@pytest.mark.parametrize(
    ("signal", "fields"),
    [
        ("Progressed", {"step": "Counting", "status": "started", "file_names": []}),
        ("FileWritten", {"step": "Wrote a.csv", "status": "done", "file_names": ["a.csv"]}),
        ("Finished", {"text": "All done.", "outcome": "completed"}),
        ("Failed", {"text": "No such column.", "outcome": "failed"}),
    ],
)
def test_entries_of_a_running_job(signal: str, fields: dict[str, object]) -> None:
    """Title and files are added by the record."""
    entry = transitions.fold(JobState.RUNNING, JOB_SIGNALS[signal]).entry
    assert entry is not None
    assert entry.fields == fields
    assert entry.with_files == (signal in {"Finished", "Failed"})


@pytest.mark.parametrize("state", [JobState.LATE_COMPLETED, JobState.LATE_FAILED])
def test_recover_tells_the_result_that_was_kept(state: JobState) -> None:
    """A late result appears on recover (design: Expiry and recover)."""
    entry = transitions.fold(state, s.Recovered("What was kept.")).entry
    assert entry is not None
    assert entry.fields["text"] == "What was kept."
