"""What a message has brought so far: the reply, then the result of each job in the order in which
they ended, then the agent's question."""

from dataclasses import dataclass

from agentpost.contract.shape import Links
from agentpost.explain.reasons import EXPLANATIONS
from agentpost.jobs.rules import OPEN_JOBS, JobState, Reason
from agentpost.messages.rules import OPEN_TURNS
from agentpost.messages.shapes import FileShape, MessageShape
from agentpost.questions import rules as question_rules
from agentpost.record.records import Snapshot


@dataclass(frozen=True, slots=True)
class Output:
    """A text and its files; ``id`` is the message's for its reply, a job's for its result."""

    id: str
    title: str
    text: str
    files: tuple[FileShape, ...]

    @property
    def shown(self) -> str:
        """Its text; of files alone, their names."""
        return self.text or "\n".join(file.name for file in self.files)


def outputs_of(snapshot: Snapshot, links: Links) -> list[Output]:
    """What a message shows: texts, or JSON when it was asked for."""
    has_schema = snapshot.message.response_schema_json is not None
    return (outputs_by_schema if has_schema else outputs)(snapshot, links)


def shown_texts(snapshot: Snapshot, links: Links) -> list[str]:
    """The texts of what a message shows."""
    return [output.shown for output in outputs_of(snapshot, links)]


def outputs(snapshot: Snapshot, links: Links) -> list[Output]:
    """The outputs: once one is there it stays as it is, and later ones come behind it.

    A job that failed has none, unless it has left files. Work whose watch has ended shows nothing
    more, as everywhere. What a job brings while the turn runs is shown behind the reply.
    """
    message = snapshot.message
    if message.turn_state in OPEN_TURNS:
        return []
    shape = MessageShape.of(snapshot, links)
    of_jobs = {file.file_id for job in shape.jobs for file in job.files}
    own = tuple(file for file in shape.files if file.file_id not in of_jobs)
    reply = [Output(message.id, "", message.reply or "", own)] if message.reply or own else []
    by_time: list[tuple[int, Output]] = []
    for link, job in zip(snapshot.links, shape.jobs, strict=True):
        is_over = link.job.state in (JobState.COMPLETED, JobState.FAILED, JobState.STOPPED)
        text = (link.job.result or "") if link.job.state is JobState.COMPLETED else ""
        if is_over and (text or job.files):
            output = Output(job.job_id, job.title, text, tuple(job.files))
            by_time.append((link.job.settled_at or 0, output))
    of_works = [output for _, output in sorted(by_time, key=lambda each: (each[0], each[1].id))]
    results = reply + of_works
    question = message.question if message.final else None
    # Most often it is a whole text: to search a long one takes thirty times as long as to compare.
    if question and not any(question == each.text or question in each.text for each in results):
        results.append(Output(f"{message.id}_question", "", question, ()))
    return results


def outputs_by_schema(snapshot: Snapshot, links: Links) -> list[Output]:
    """The same for a message whose output has to fit a schema, once it is final: its JSON with all
    files, or its question; nothing else, which would be no JSON."""
    message = snapshot.message
    if not message.final:
        return []
    value = question_rules.output_of(snapshot)
    if value is not None:
        files = tuple(MessageShape.of(snapshot, links).files)
        return [Output(message.id, "", value, files)]
    return [Output(message.id, "", message.question, ())] if message.question else []


def next_source(snapshot: Snapshot) -> str | None:
    """Who makes the next output for certain, the message for its turn or a job; None when nobody
    can tell, or nothing more comes."""
    if snapshot.message.turn_state in OPEN_TURNS:
        return snapshot.message.id
    open_jobs = [link.job.id for link in snapshot.links if link.job.state in OPEN_JOBS]
    return open_jobs[0] if len(open_jobs) == 1 else None


def explanation_of(snapshot: Snapshot, reason: Reason | None) -> str:
    """What happened to a message that has not brought everything, and what to do; "" for nothing
    that is known."""
    explanation = EXPLANATIONS[reason] if reason is not None else None
    failed = [link.job for link in snapshot.links if link.job.state is JobState.FAILED]
    results = [job.result for job in failed if job.result]
    advice = [explanation.what, explanation.advice] if explanation else []
    return " ".join([*results[:1], *advice])


def changed_at(snapshot: Snapshot) -> int:
    """When the message or a job of it changed last, in microseconds."""
    return max(
        snapshot.message.updated_at, *(link.job.settled_at or 0 for link in snapshot.links), 0
    )
