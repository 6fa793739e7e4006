"""What a question asks for, and the outputs that fit a caller's schema."""

from typing import Annotated, Any

from msgspec import UNSET

from agentpost.contract.shape import Maybe, Shape, about, loads
from agentpost.jobs.rules import JobRole, JobState
from agentpost.questions import rules as question_rules
from agentpost.record.records import JobLink, Snapshot


class AnswerFormatShape(Shape):
    """An answer is one of `choices`, or JSON that fits `schema`."""

    choices: Maybe[list[str]] = UNSET
    schema: Annotated[Maybe[dict[str, Any]], about("A JSON Schema (2020-12).")] = UNSET


def typed_fields(snapshot: Snapshot) -> dict[str, Any]:
    """``answer_format`` and ``output``: only there when they were asked for."""
    fields: dict[str, Any] = {}
    answer_format = question_rules.format_of(snapshot)
    if answer_format is not None:
        fields["answer_format"] = AnswerFormatShape.from_stored(loads(answer_format))
    if snapshot.message.response_schema_json is not None:
        output = question_rules.output_of(snapshot)
        fields["output"] = None if output is None else loads(output)
    return fields


def output_of_job(link: JobLink) -> Any:
    """The output of a job, as the message that started it shows it.

    A job that was only joined has its output for another message's schema."""
    is_shown = link.role is JobRole.EXECUTION and link.job.state is JobState.COMPLETED
    text = link.job.output_json if is_shown else None
    return None if text is None else loads(text)
