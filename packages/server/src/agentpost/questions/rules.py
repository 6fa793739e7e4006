"""What a message asks now and what its output is, from its record (design: Typed questions)."""

from agentpost.jobs.rules import JobRole, JobState
from agentpost.record.records import Snapshot


def format_of(snapshot: Snapshot) -> str | None:
    """The stored `AnswerFormat` of what a message asks now; None: nothing, or any text will do.

    It belongs to the question that `messages.status_rules` takes: that of the last job, else
    the turn's.
    """
    message = snapshot.message
    if message.question is None:
        return None
    asked = [
        link.job
        for link in snapshot.links
        if link.job.question and link.job.state is JobState.COMPLETED
    ]
    return asked[-1].answer_format_json if asked else message.answer_format_json


def output_of(snapshot: Snapshot) -> str | None:
    """The JSON of a message's output: its turn's, else that of the last completed job it started. A
    job that it only joined gave its output for another message's schema."""
    given = [
        link.job.output_json
        for link in snapshot.links
        if link.role is JobRole.EXECUTION and link.job.state is JobState.COMPLETED
    ]
    return snapshot.message.output_json or next((o for o in reversed(given) if o), None)
