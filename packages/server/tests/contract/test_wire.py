"""Every resource on the wire, byte for byte as in `wire.json`: names, order, nulls, what is absent.

The file was recorded before there was one class for each resource. A new field changes it: `make
generate` records it again, and the difference has to be that field alone.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import UNSET

from agentpost.accounts.scope_rules import Scope
from agentpost.accounts.shapes import AccountShape, AgentShape, KeyShape, LimitsShape
from agentpost.api.errors import error_response
from agentpost.contract.shape import Shape, dumps
from agentpost.domain.errors import (
    BeyondTheEnd,
    ErrorCode,
    InvalidRequest,
    PollInProgress,
    Problem,
    RateLimited,
    Refusal,
)
from agentpost.following.shapes import EntryShape, EventListShape
from agentpost.jobs.recovery_rules import RecoveryState
from agentpost.jobs.rules import JobKind, JobRole, JobState, Reason
from agentpost.jobs.work_shapes import (
    RecoveredWorkShape,
    RecoveryShape,
    WorkDeletedShape,
    WorkItemShape,
    WorkListShape,
    WorkShape,
)
from agentpost.messages.rules import MessageStatus
from agentpost.messages.shapes import FileFacts, FileObject, MessageShape
from agentpost.record.events import TEST_EVENT
from agentpost.record.records import (
    EntryRecord,
    FileRecord,
    JobLink,
    Snapshot,
    UploadRecord,
    WorkRecord,
)
from agentpost.uploads.rules import UploadStatus
from agentpost.uploads.shapes import UploadCreatedShape, UploadShape
from agentpost.webhooks import event_shapes, shapes as webhook_shapes
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason
from agentpost.webhooks.event_shapes import EventShape, JobEventDataShape
from agentpost.webhooks.records import AttemptRecord, DeliveryRecord, EndpointRecord
from tests.contract.test_shapes import AT, DAY, FILE, JOB, LINKS, MESSAGE, blank, job_link

RECORDED = Path(__file__).with_name("wire.json")
ODD = 'tab\tquote"back\\slash/ nul-ish\x1f del\x7f é € 𝄞 \u2028\u2029 </script>\r\n\b\f'
Bytes = Iterator[tuple[str, bytes]]


def messages() -> Bytes:
    def message(
        name: str, *links: JobLink, files: Sequence[FileRecord] = (), **changes: Any
    ) -> tuple[str, bytes]:
        snapshot = Snapshot(replace(MESSAGE, **changes), list(links), list(files))
        return f"message {name}", MessageShape.of(snapshot, LINKS).json()

    for status in MessageStatus:
        yield message(status, status=status, final=0, reply=None)
    for reason in Reason:
        yield message(reason, status=MessageStatus.FAILED, reason=reason)
    for state in JobState:
        link = job_link(state, queue_by=AT + DAY, reason=Reason.HOSTING_FEES, started_at=None)
        yield message(f"with a job {state}", link, files=(FILE,))
    running = [{"job_id": "exe_9", "message_id": "msg_9", "work_id": "wrk_9"}]
    refusal = job_link(
        JobState.REFUSED, kind=JobKind.REFUSAL, running_json=json.dumps(running), id="ref_1"
    )
    joined = job_link(id="exe_2", role=JobRole.FOLLOW_UP)
    outputs = [replace(FILE, path=f"{n}/é.csv", name="é.csv", label=ODD) for n in range(10)]
    reply = replace(FILE, path="reply", job_id=None, size=5_000_000_000)
    labels = {"metadata_json": json.dumps({"order": ODD, "": ""}), "traceparent": "00-1-2-03"}
    yield message("full", job_link(), refusal, joined, files=(*outputs, reply), **labels)
    yield message("odd", reply=ODD, question=ODD, notes_json=json.dumps([ODD]), metadata_json="{}")


def jobs_and_files() -> Bytes:
    labelled = replace(MESSAGE, metadata_json="{}", traceparent="0")
    for name, started_by in (("plain", MESSAGE), ("labelled", labelled)):
        shape = JobEventDataShape.of_started(JOB, started_by, [FILE], LINKS)
        yield f"job event {name}", shape.json()
    yield "file", FileObject.from_record(replace(FILE, label=ODD), LINKS).json()


def entries() -> Bytes:
    files = [FileFacts.of(FILE)]
    bodies: dict[str, dict[str, Any]] = {
        "agent_reply": {"text": ODD, "delivered_sync": False, "files": files},
        "turn_failed": {"text": "t", "reason": "error"},
        "turn_busy": {"text": "t", "reason": "agent_busy"},
        "result": {"title": "t", "text": "x", "outcome": "completed", "files": [*files, *files]},
        "progress": {"step": "s", "status": "done", "file_names": ["a", "b"]},
        "state": {"state": "expired", "text": "t"},
    }
    for work_id, job_id in ((None, None), ("wrk_1", None), ("wrk_1", "exe_1")):
        log = [
            EntryRecord("msg_1", n, name, AT + n, dumps(body), work_id, job_id)
            for n, (name, body) in enumerate(bodies.items(), 1)
        ]
        for expired in (False, True):
            page = EventListShape(
                data=[EntryShape.of(entry, LINKS) for entry in log],
                has_more=False,
                done=True,
                cursor="c",
                cursor_expired=True if expired else UNSET,
            )
            yield f"events {(work_id, job_id)} {expired}", page.json()


def webhook_bodies() -> Bytes:
    metadata = json.dumps({"files": '[{"file_id": 1}]', "file_id": "no"})
    for name, files in (("files", [FILE, replace(FILE, job_id=None)]), ("nothing", [])):
        record = replace(MESSAGE, metadata_json=metadata, reply=ODD)
        message = MessageShape.of(Snapshot(record, [job_link()], files), LINKS)
        yield f"message.completed with {name}", event("message.completed", message)
        job = JobEventDataShape.of_started(JOB, record, files, LINKS)
        yield f"job.failed with {name}", event("job.failed", job)
    yield (
        "webhook.test",
        event(TEST_EVENT, event_shapes.TestEventDataShape(webhook_endpoint_id="whe_1")),
    )


def event(name: str, data: Shape) -> bytes:
    return EventShape.of(name, AT, dumps(data), LINKS).json()


def works() -> Bytes:
    work = blank(WorkRecord, id="wrk_1", title=ODD, text="€" * 20_001, updated_at=AT)
    for start in (0, 20_000):
        shape = WorkShape.of(work, LINKS, running=True, files=[FILE], from_char=start)
        yield f"work from {start}", shape.json()
    idle = replace(work, text=ODD)
    shape = WorkShape.of(idle, LINKS, running=False, files=[], from_char=0)
    yield "work idle", shape.json()
    items = [WorkItemShape.of(each, LINKS, running=each is work) for each in (work, idle)]
    yield "works", WorkListShape(data=items, has_more=True).json()
    yield "work deleted", WorkDeletedShape(work_id="wrk_1").json()


def others() -> Bytes:
    account = AccountShape(
        user_id="usr_1",
        email="a@b.c",
        name=ODD,
        plan="self_hosted",
        credits=12.5,
        agent=AgentShape(name="offline"),
        key=KeyShape(id="key_1", name="ci", scopes=[Scope.READ], max_credits_per_day=None),
        limits=LimitsShape(running_jobs=5, requests_per_minute=600),
    )
    yield "account", account.json()
    found = [
        RecoveredWorkShape(work_id=f"wrk_{n}", state=state) for n, state in enumerate(RecoveryState)
    ]
    yield "recovery", RecoveryShape(id="msg_1", work=found).json()
    upload = blank(
        UploadRecord,
        id="up_1",
        post_by=AT,
        size=7,
        filename=ODD,
        content_type="text/csv",
        status=UploadStatus.READY,
    )
    fields = {"key": "up_1", "policy": "p", "Content-Type": "text/csv"}
    yield "upload created", UploadCreatedShape.of(upload, "https://x", fields).json()
    yield "upload ready", UploadShape.of(upload).json()


def endpoints() -> Bytes:
    endpoint = blank(
        EndpointRecord,
        id="whe_1",
        url="https://x",
        events_json='["*"]',
        description=ODD,
        secret="whsec_1",
        created_at=AT,
    )
    off = replace(
        endpoint,
        description=None,
        disabled_at=AT,
        disabled_reason=DisabledReason.FAILING,
        failing_since=AT - 1,
        old_secret_until=AT + 1,
    )
    delivery = blank(
        DeliveryRecord,
        event_id="evt_1",
        event="job.failed",
        status=DeliveryStatus.PENDING,
        created_at=AT,
        attempt_log=(),
    )
    attempts = (
        blank(AttemptRecord, at=AT, error="refused", ms=3),
        blank(AttemptRecord, at=AT, status_code=200, response=ODD),
    )
    sent = replace(
        delivery,
        status=DeliveryStatus.DELIVERED,
        attempts=2,
        last_status_code=200,
        last_response=ODD,
        last_ms=5,
        delivered_at=AT,
        next_attempt_at=AT,
        message_id="msg_1",
        attempt_log=attempts,
    )
    for name, record in (("on", endpoint), ("off", off)):
        yield f"endpoint {name}", webhook_shapes.EndpointShape.of(record).json()
        yield f"endpoint created {name}", webhook_shapes.NewEndpointShape.of(record).json()
        yield f"secret rotated {name}", webhook_shapes.RotatedSecretShape.of(record).json()
        recent = [webhook_shapes.DeliveryShape.of(each) for each in (sent, delivery)]
        shape = webhook_shapes.EndpointWithDeliveriesShape.of(record, recent_deliveries=recent)
        yield f"endpoint with deliveries {name}", shape.json()
    both = [webhook_shapes.EndpointShape.of(each) for each in (endpoint, off)]
    yield "endpoints", webhook_shapes.EndpointListShape(data=both).json()
    yield "endpoint deleted", webhook_shapes.DeletedEndpointShape(id="whe_1").json()
    yield "delivery", webhook_shapes.DeliveryShape.of(sent).json()
    page = [webhook_shapes.LoggedDeliveryShape.of(each) for each in (sent, delivery)]
    yield "deliveries", webhook_shapes.DeliveryListShape(data=page, has_more=True).json()
    yield "replay", webhook_shapes.ReplayShape(webhook_endpoint_id="whe_1", deliveries=3).json()


def errors() -> Bytes:
    refusals = [
        InvalidRequest(*(Problem(f"files.{n}", ODD) for n in range(12))),
        InvalidRequest(Problem(None, "not JSON")),
        PollInProgress("c"),
        RateLimited("slow down", 3),
        BeyondTheEnd(9),
        *(Refusal(code, ODD) for code in ErrorCode),
    ]
    for n, refusal in enumerate(refusals):
        body = error_response(refusal, "req_1", "https://x/docs/errors").body
        yield f"error {n} {refusal.code}", bytes(body)


def wire() -> dict[str, str]:
    """Every case by its name."""
    groups = (
        messages(),
        jobs_and_files(),
        entries(),
        webhook_bodies(),
        works(),
        others(),
        endpoints(),
        errors(),
    )
    return {name: sent.decode() for group in groups for name, sent in group}


def test_the_bytes_are_those_recorded() -> None:
    sent, recorded = wire(), json.loads(RECORDED.read_text("utf-8"))
    assert set(sent) == set(recorded), "nothing recorded is left out"
    assert {name: text for name, text in sent.items() if text != recorded[name]} == {}


if __name__ == "__main__":
    print(json.dumps(wire(), indent=1, ensure_ascii=False))
