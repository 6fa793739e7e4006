"""Examples in the OpenAPI document of the responses that clients use most."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from agentpost.contract.errors import CATALOGUE, ErrorShape
from agentpost.contract.shape import Shape, loads
from agentpost.domain.errors import ErrorCode, InvalidRequest, PollInProgress, Problem, Refusal
from agentpost.domain.times import SECOND, iso, seconds
from agentpost.events.sample_shapes import blank
from agentpost.following.shapes import EntryShape, EventListShape
from agentpost.jobs.rules import JobKind, JobRole, JobState
from agentpost.messages.rules import MessageStatus
from agentpost.messages.shapes import MessageShape
from agentpost.record.events import EntryType
from agentpost.record.records import FileRecord, JobLink, JobRecord, MessageRecord, Snapshot
from agentpost.uploads.shapes import UploadCreatedShape

Body = dict[str, Any]

_MESSAGE = "msg_0660c545b410f5f5761497037f1afa21"
_JOB = "exe_0660c545c1f0a7cb0d1a4f5be8d2a9b3"
_WORK = "chat_0660c545c1f09b6a2c33d1e5f7a84c10"
_REQUEST = "req_0660c545b410f5f5761497037f1afa21"
_AT = 1_769_851_800 * SECOND


class _Links:
    """Links of a server that is nowhere."""

    def chat(self, work_id: str) -> str:
        return f"https://agent.example.com/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        return f"https://agent.example.com/files/{file_id}?exp=1769855400&sig=…"


def _body(shape: Shape) -> Body:
    return cast("Body", loads(shape.json()))


_FILE = blank(
    FileRecord,
    work_id=_WORK,
    path="revenue.png",
    job_id=_JOB,
    name="revenue.png",
    content_type="image/png",
    kind="image",
    size=48213,
    revision='"5f2b1c0d9e8a7b6c5d4e3f2a1b0c9d8e"',
)
_RUNNING = blank(
    JobRecord,
    id=_JOB,
    work_id=_WORK,
    kind=JobKind.EXECUTION,
    title="Chart revenue by month",
    state=JobState.RUNNING,
    credits_used=0,
    started_at=_AT,
)
_SETTLED = replace(
    _RUNNING,
    state=JobState.COMPLETED,
    credits_used=1_500_000,
    settled_at=_AT + seconds(72.4),
)
_PROCESSING = blank(
    MessageRecord,
    id=_MESSAGE,
    status=MessageStatus.PROCESSING,
    reply="On it.",
    notes_json="[]",
    created_at=_AT,
    updated_at=_AT + seconds(1.25),
    version=3,
)


def _message(record: MessageRecord, *jobs: JobRecord, files: Sequence[FileRecord] = ()) -> Body:
    links = [JobLink(job, JobRole.EXECUTION) for job in jobs]
    return _body(MessageShape.of(Snapshot(record, links, list(files)), _Links()))


_DONE = replace(_PROCESSING, status=MessageStatus.COMPLETED, final=1)
_STARTED = _message(_PROCESSING, _RUNNING)
_COMPLETED = _message(replace(_DONE, version=6), _SETTLED, files=[_FILE])
_ANSWERED = _message(replace(_DONE, version=2, reply="Revenue was highest in March."))
_LOG = _body(
    EventListShape(
        data=[
            EntryShape(
                seq=1,
                type=EntryType.AGENT_REPLY,
                at=iso(_AT + seconds(1.25)),
                message_id=_MESSAGE,
                text="On it.",
                delivered_sync=True,
                files=[],
            ),
            EntryShape(
                seq=2,
                type=EntryType.PROGRESS,
                at=iso(_AT + seconds(2.1)),
                message_id=_MESSAGE,
                work_id=_WORK,
                job_id=_JOB,
                step="Reading the file",
                status="started",
            ),
        ],
        has_more=False,
        done=False,
        cursor="eyJzIjoyfQ.4f1c…",
    )
)
_UPLOAD = _body(
    UploadCreatedShape(
        upload_id="up_0660c545b410f5f5761497037f1afa21",
        filename="interviews.txt",
        url="https://agent.example.com/uploads",
        fields={
            "key": "up_0660c545b410f5f5761497037f1afa21",
            "Content-Type": "text/csv",
            "policy": "eyJleHBpcmF0aW9uIjoi…",
            "signature": "9c1d…",
        },
        expires_at=iso(_AT + 15 * 60 * SECOND),
        max_bytes=1048576,
    )
)

ANSWERS: dict[tuple[str, int], dict[str, tuple[str, Body]]] = {
    ("createMessage", 201): {
        "started": ("The agent has started a job", _STARTED),
        "answered": ("The agent has answered at once", _ANSWERED),
    },
    ("createMessage", 200): {"repeated": ("A repeated call, the job done by now", _COMPLETED)},
    ("getMessage", 200): {"completed": ("All is done", _COMPLETED)},
    ("listMessageEvents", 200): {"log": ("A job has begun", _LOG)},
    ("createUpload", 201): {"form": ("Where to post the file", _UPLOAD)},
}
"""(operation, status) -> name -> (what it shows, the body)."""


def of_answer(operation: str, status: int) -> dict[str, Any]:
    """The examples of a success answer, empty when it has none."""
    answers = ANSWERS.get((operation, status), {})
    return {name: {"summary": text, "value": body} for name, (text, body) in answers.items()}


def of_errors(base_url: str) -> dict[str, Any]:
    """An error body for each code: the description's ``components.examples``."""
    bodies: dict[str, Any] = {}
    for name, code in CATALOGUE.items():
        refusal = Refusal(name, code.meaning)
        if name is ErrorCode.INVALID_REQUEST:
            refusal = InvalidRequest(Problem("files.0.url", "input should be a string"))
        elif name is ErrorCode.POLL_IN_PROGRESS:
            refusal = PollInProgress(_LOG["cursor"])
        shape = ErrorShape.of(refusal, _REQUEST, f"{base_url.rstrip('/')}/docs/errors")
        bodies[name.value] = {"summary": code.advice, "value": _body(shape)}
    return bodies
