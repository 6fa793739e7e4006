"""The public shapes, field by field (spec: Message; Job; File)."""

import json
from dataclasses import fields, replace
from typing import Any, get_type_hints

import msgspec
import pytest

from agentpost.contract.shape import Shape
from agentpost.following.shapes import EntryShape
from agentpost.jobs.rules import VIEWS, JobKind, JobRole, JobState, Reason
from agentpost.jobs.work_shapes import WorkItemShape, WorkShape
from agentpost.messages.rules import MessageStatus, TurnState
from agentpost.messages.shapes import FileFacts, FileObject, JobShape, MessageShape
from agentpost.record.records import (
    EntryRecord,
    FileRecord,
    JobLink,
    JobRecord,
    MessageRecord,
    Snapshot,
    WorkRecord,
)
from agentpost.webhooks.event_shapes import JobEventDataShape

AT = 1_800_000_000_000_000
DAY = 86_400_000_000


class Links:
    """Links one can read."""

    def chat(self, work_id: str) -> str:
        """See `shape.Links`."""
        return f"https://app.test/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        """See `shape.Links`."""
        return f"https://files.test/{file_id}#{revision}"


LINKS = Links()


def blank(record: type, /, **given: Any) -> Any:
    """A record with the fields given and zeros and Nones for the rest."""
    zero, hints = {int: 0, str: ""}, get_type_hints(record, include_extras=True)
    return record(**{f.name: given.get(f.name, zero.get(hints[f.name])) for f in fields(record)})


MESSAGE: MessageRecord = blank(
    MessageRecord,
    id="msg_1",
    turn_state=TurnState.ENDED,
    notes_json='["a.exe: skipped."]',
    status=MessageStatus.COMPLETED,
    final=1,
    reply="Done.",
    version=7,
    created_at=AT,
    updated_at=AT + 1,
)
JOB: JobRecord = blank(
    JobRecord,
    id="exe_1",
    message_id="msg_1",
    work_id="wrk_1",
    kind=JobKind.EXECUTION,
    title="Chart",
    state=JobState.COMPLETED,
    credits_used=1_250_000,
    started_at=AT + 2,
    settled_at=AT + 9,
    watch_by=AT + 7 * DAY,
)
FILE: FileRecord = blank(
    FileRecord,
    work_id="wrk_1",
    path="out/a.png",
    job_id="exe_1",
    name="a.png",
    content_type="image/png",
    kind="image",
    size=5,
    revision='"r"',
    created_at=AT + 5,
)


def body_of(shape: Shape) -> dict[str, Any]:
    """What goes out; raises for a value that the class, and so the OpenAPI document, forbids."""
    msgspec.json.decode(shape.json(), type=type(shape))
    return dict(json.loads(shape.json()))


def message(*links: JobLink, files: tuple[FileRecord, ...] = (), **changes: Any) -> dict[str, Any]:
    record = replace(MESSAGE, **changes)
    return body_of(MessageShape.of(Snapshot(record, list(links), list(files)), LINKS))


def job_link(state: JobState = JobState.COMPLETED, **changes: Any) -> JobLink:
    role = changes.pop("role", JobRole.EXECUTION)
    return JobLink(replace(JOB, state=state, **changes), role)


FILE_SHAPE = {
    "file_id": "wrk_1/out/a.png",
    "name": "a.png",
    "content_type": "image/png",
    "kind": "image",
    "size": 5,
    "url": 'https://files.test/wrk_1/out/a.png#"r"',
    "revision": '"r"',
    "work_id": "wrk_1",
    "label": None,
}
JOB_SHAPE = {
    "job_id": "exe_1",
    "kind": "execution",
    "role": "execution",
    "work_id": "wrk_1",
    "title": "Chart",
    "status": "completed",
    "reason": None,
    "final": True,
    "queued": None,
    "resume_by": None,
    "link": "https://app.test/chat/wrk_1",
    "started_at": "2027-01-15T08:00:00.000002Z",
    "settled_at": "2027-01-15T08:00:00.000009Z",
    "files": [FILE_SHAPE],
    "text": None,
}
MESSAGE_SHAPE = {
    "id": "msg_1",
    "object": "message",
    "status": "completed",
    "reason": None,
    "question": None,
    "final": True,
    "reply": "Done.",
    "jobs": [JOB_SHAPE],
    "files": [FILE_SHAPE],
    "notes": ["a.exe: skipped."],
    "credits_used": 1.25,
    "created_at": "2027-01-15T08:00:00.000000Z",
    "updated_at": "2027-01-15T08:00:00.000001Z",
    "version": 7,
    "conversation": None,
}


@pytest.mark.rule(
    "Message.id",
    "Message.object",
    "Message.jobs",
    "Message.created_at",
    "Job.work_id",
    "Job.title",
    "Job.settled_at",
)
def test_a_message_to_the_letter() -> None:
    assert message(job_link(), files=(FILE,)) == MESSAGE_SHAPE


@pytest.mark.rule("Job.object", "Job.message_id")
def test_a_job_event_to_the_letter() -> None:
    """In `job.*` events with `object` and `message_id`."""
    shape = body_of(JobEventDataShape.of_started(JOB, MESSAGE, [FILE], LINKS))
    assert shape == {"object": "job", "message_id": "msg_1", **JOB_SHAPE}


@pytest.mark.rule("File.object", "File.file_id", "File.name", "File.size", "File.work_id")
def test_a_file_alone() -> None:
    shape = body_of(FileObject.from_record(FILE, LINKS))
    assert shape == {"object": "file", **FILE_SHAPE}


@pytest.mark.rule("Message.files", "Job.files")
def test_every_file_once_and_each_at_its_job() -> None:
    """All at the message; those that a job made, at the job, too."""
    other = replace(FILE, path="b", job_id="exe_2")
    reply = replace(FILE, path="c", job_id=None)
    shape = message(job_link(), job_link(id="exe_2"), files=(FILE, other, reply))
    paths = [file["file_id"].partition("/")[2] for file in shape["files"]]
    assert paths == ["out/a.png", "b", "c"]
    assert [[f["file_id"] for f in job["files"]] for job in shape["jobs"]] == [
        ["wrk_1/out/a.png"],
        ["wrk_1/b"],
    ]


@pytest.mark.rule("Job.status", "Job.reason", "Job.queued", "Job.resume_by")
@pytest.mark.parametrize("state", list(JobState))
def test_a_job_in_every_state(state: JobState) -> None:
    """`queued` and `resume_by` are there only while it waits for credits."""
    refused = state is JobState.REFUSED
    record = replace(
        JOB, state=state, queue_by=AT + DAY, reason=Reason.HOSTING_FEES if refused else None
    )
    shape = body_of(JobShape.of(JobLink(record, JobRole.FOLLOW_UP), [], LINKS))
    view = VIEWS[state]
    assert (shape["status"], shape["final"]) == (view.status, view.final)
    assert shape["reason"] == ("hosting_fees" if refused else view.reason)
    assert shape["role"] == "follow_up"
    waits = state is JobState.QUEUED
    assert shape["queued"] is (True if waits else None)
    assert shape["resume_by"] == ("2027-01-16T08:00:00.000000Z" if waits else None)


@pytest.mark.parametrize(
    "state", [JobState.OVERDUE, JobState.LATE_COMPLETED, JobState.LATE_FAILED, JobState.LOST]
)
def test_files_and_text_after_the_watch_are_not_shown(state: JobState) -> None:
    """It appears on recover (design: Expiry and recover)."""
    ended = AT + 8 * DAY if state is not JobState.OVERDUE else None
    late = replace(FILE, path="late", created_at=AT + 7 * DAY + 1)
    reply = replace(FILE, path="reply", job_id=None, created_at=AT + 8 * DAY)
    link = job_link(state, settled_at=ended, result="Late.")
    shape = message(link, files=(FILE, late, reply))
    assert shape["jobs"][0]["text"] is None
    assert [file["file_id"] for file in shape["files"]] == ["wrk_1/out/a.png", "wrk_1/reply"]
    assert [file["file_id"] for file in shape["jobs"][0]["files"]] == ["wrk_1/out/a.png"]
    assert shape["jobs"][0]["settled_at"] == "2027-01-22T08:00:00.000000Z"


@pytest.mark.rule("Message.credits_used")
def test_credits_count_on_the_message_that_started_the_work() -> None:
    """design: Credits."""
    joined = job_link(id="exe_2", role=JobRole.FOLLOW_UP)
    assert message(job_link(), job_link(id="exe_3"), joined)["credits_used"] == 2.5


# --- fields that are there only when they say something -------------------------------------------
@pytest.mark.rule("Message.resume", "Message.resume_by")
def test_resume_names_the_earliest_deadline() -> None:
    jobs = [job_link(JobState.QUEUED, id=f"exe_{n}", queue_by=AT + n * DAY) for n in (3, 1, 2)]
    shape = message(*jobs)
    assert shape["resume"] == "add_credits"
    assert shape["resume_by"] == "2027-01-16T08:00:00.000000Z"


@pytest.mark.rule("Message.resume")
def test_work_that_waits_no_more_is_not_resumed() -> None:
    """Queued work only."""
    shape = message(job_link(JobState.QUEUE_EXPIRED, queue_by=AT), job_link(JobState.REFUSED))
    assert not {"resume", "resume_by"} & set(shape)


@pytest.mark.rule("Message.running")
def test_running_lists_what_held_the_slots() -> None:
    running = [{"job_id": "exe_9", "message_id": "msg_9", "work_id": "wrk_9"}]
    refusal = job_link(
        JobState.REFUSED, reason=Reason.TOO_MANY_RUNNING, running_json=json.dumps(running)
    )
    assert message(job_link(), refusal)["running"] == running
    assert "running" not in message(job_link(JobState.REFUSED, reason=Reason.HOSTING_FEES))


@pytest.mark.rule("Message.retry_after_seconds")
@pytest.mark.parametrize("reason", [None, *Reason])
def test_when_to_send_a_busy_message_again(reason: Reason | None) -> None:
    shape = message(reason=reason)
    assert shape.get("retry_after_seconds") == (15 if reason == "agent_busy" else None)
    assert shape["reason"] == reason


@pytest.mark.rule("Additions metadata")
def test_metadata_is_given_back() -> None:
    """On message and events, when it was sent (design: Additions)."""
    assert message(metadata_json='{"a": "b"}')["metadata"] == {"a": "b"}
    assert message(metadata_json="{}")["metadata"] == {}
    assert "metadata" not in message()


# --- entries and works ----------------------------------------------------------------------------
@pytest.mark.rule("Message event log entry")
def test_an_entry_knows_what_is_known() -> None:
    body = {"step": "Count", "status": "started", "file_names": []}
    record = EntryRecord("msg_1", 3, "progress", AT, json.dumps(body), "wrk_1", "exe_1")
    assert body_of(EntryShape.of(record, LINKS)) == {
        "seq": 3,
        "type": "progress",
        "at": "2027-01-15T08:00:00.000000Z",
        "message_id": "msg_1",
        "work_id": "wrk_1",
        "job_id": "exe_1",
        **body,
    }
    plain = body_of(EntryShape.of(replace(record, work_id=None, job_id=None), LINKS))
    assert not {"work_id", "job_id"} & set(plain)


@pytest.mark.rule("Message event log result")
def test_the_files_of_an_entry_get_fresh_links() -> None:
    facts = body_of(FileFacts.of(FILE))
    assert "url" not in facts
    body = json.dumps({"files": [facts]})
    record = EntryRecord("msg_1", 1, "result", AT, body, "wrk_1", "exe_1")
    assert body_of(EntryShape.of(record, LINKS))["files"] == [FILE_SHAPE]


@pytest.mark.rule(
    "Work.object", "Work.status", "Work.text", "Work.next_from_char", "Work.link", "Work.files"
)
@pytest.mark.parametrize(
    ("length", "from_char", "shown", "following"),
    [
        (0, 0, 0, None),
        (20_000, 0, 20_000, None),
        (20_001, 0, 20_000, 20_000),
        (20_001, 20_000, 1, None),
        (10, 50, 0, None),
    ],
)
def test_a_work_is_paged_by_characters(
    length: int, from_char: int, shown: int, following: int | None
) -> None:
    work: WorkRecord = blank(WorkRecord, id="wrk_1", title="Chart", text="€" * length)
    given: dict[str, Any] = {"files": [FILE], "from_char": from_char}
    shape = body_of(WorkShape.of(work, LINKS, running=True, **given))
    assert (len(shape["text"]), shape["next_from_char"]) == (shown, following)
    assert (shape["object"], shape["status"]) == ("work", "running")
    assert shape["link"] == "https://app.test/chat/wrk_1"
    assert shape["files"] == [FILE_SHAPE]
    assert WorkShape.of(work, LINKS, running=False, **given).status == "idle"


@pytest.mark.rule("Work.work_id", "Work.title", "Work.list", "Additions work-items")
def test_a_line_of_the_work_list() -> None:
    work: WorkRecord = blank(WorkRecord, id="wrk_1", title="Chart", text="x" * 500, updated_at=0)
    assert body_of(WorkItemShape.of(work, LINKS, running=True)) == {
        "object": "work",
        "work_id": "wrk_1",
        "title": "Chart",
        "preview": "x" * 200,
        "link": "https://app.test/chat/wrk_1",
        "status": "running",
        "updated_at": "1970-01-01T00:00:00.000000Z",
    }
