"""Examples in the OpenAPI document of the responses that clients use most."""

from __future__ import annotations

from typing import Any

from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode

Body = dict[str, Any]

_MESSAGE = "msg_0660c545b410f5f5761497037f1afa21"
_JOB = "exe_0660c545c1f0a7cb0d1a4f5be8d2a9b3"
_WORK = "chat_0660c545c1f09b6a2c33d1e5f7a84c10"
_AT = "2026-01-31T09:30:00.000000Z"
_FILE: Body = {
    "file_id": f"{_WORK}/revenue.png",
    "name": "revenue.png",
    "content_type": "image/png",
    "kind": "image",
    "size": 48213,
    "revision": '"5f2b1c0d9e8a7b6c5d4e3f2a1b0c9d8e"',
    "work_id": _WORK,
    "label": None,
    "url": f"https://agent.example.com/files/{_WORK}/revenue.png?exp=1769855400&sig=…",
}
_RUNNING: Body = {
    "job_id": _JOB,
    "kind": "execution",
    "role": "execution",
    "work_id": _WORK,
    "title": "Chart revenue by month",
    "status": "running",
    "reason": None,
    "final": False,
    "queued": None,
    "resume_by": None,
    "link": f"https://agent.example.com/chat/{_WORK}",
    "started_at": _AT,
    "settled_at": None,
    "files": [],
}
_PROCESSING: Body = {
    "id": _MESSAGE,
    "object": "message",
    "status": "processing",
    "reason": None,
    "question": None,
    "final": False,
    "reply": "On it.",
    "jobs": [_RUNNING],
    "files": [],
    "notes": [],
    "credits_used": 0,
    "created_at": _AT,
    "updated_at": "2026-01-31T09:30:01.250000Z",
    "version": 3,
}
_SETTLED: Body = {
    **_RUNNING,
    "status": "completed",
    "final": True,
    "settled_at": "2026-01-31T09:31:12.400000Z",
    "files": [_FILE],
}
_COMPLETED: Body = {
    **_PROCESSING,
    "status": "completed",
    "final": True,
    "jobs": [_SETTLED],
    "files": [_FILE],
    "credits_used": 1.5,
    "version": 6,
}
_ANSWERED: Body = {
    **_PROCESSING,
    "status": "completed",
    "final": True,
    "reply": "Revenue was highest in March.",
    "jobs": [],
    "version": 2,
}
_LOG: Body = {
    "object": "list",
    "data": [
        {
            "seq": 1,
            "type": "agent_reply",
            "at": "2026-01-31T09:30:01.250000Z",
            "message_id": _MESSAGE,
            "text": "On it.",
            "files": [],
            "delivered_sync": True,
        },
        {
            "seq": 2,
            "type": "progress",
            "at": "2026-01-31T09:30:02.100000Z",
            "message_id": _MESSAGE,
            "work_id": _WORK,
            "job_id": _JOB,
            "step": "Reading the file",
            "status": "started",
        },
    ],
    "has_more": False,
    "done": False,
    "cursor": "eyJzIjoyfQ.4f1c…",
}
_UPLOAD: Body = {
    "object": "upload",
    "upload_id": "up_0660c545b410f5f5761497037f1afa21",
    "url": "https://agent.example.com/uploads",
    "fields": {
        "key": "up_0660c545b410f5f5761497037f1afa21",
        "Content-Type": "text/csv",
        "policy": "eyJleHBpcmF0aW9uIjoi…",
        "signature": "9c1d…",
    },
    "expires_at": "2026-01-31T09:45:00.000000Z",
    "max_bytes": 1048576,
}

ANSWERS: dict[tuple[str, int], dict[str, tuple[str, Body]]] = {
    ("createMessage", 201): {
        "started": ("The agent has started a job", _PROCESSING),
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
    found = ANSWERS.get((operation, status), {})
    return {name: {"summary": text, "value": body} for name, (text, body) in found.items()}


def of_errors(base_url: str) -> dict[str, Any]:
    """An error body for each code: the description's ``components.examples``."""
    found: dict[str, Any] = {}
    for name, code in CATALOGUE.items():
        body: Body = {
            "error": name.value,
            "message": code.meaning,
            "request_id": "req_0660c545b410f5f5761497037f1afa21",
            "docs": f"{base_url.rstrip('/')}/docs/errors#{name}",
        }
        if name is ErrorCode.INVALID_REQUEST:
            body["problems"] = [{"field": "files.0.url", "problem": "input should be a string"}]
        if name is ErrorCode.POLL_IN_PROGRESS:
            body["cursor"] = _LOG["cursor"]
        found[name.value] = {"summary": code.advice, "value": body}
    return found
