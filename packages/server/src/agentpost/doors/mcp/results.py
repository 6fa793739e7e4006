"""What a tool gives back: the message in short, as values and as a text to read."""

import json
from collections.abc import Sequence
from typing import Any, Final

import mcp.types as mcp

from agentpost.domain.limits import MCP_TEXT_CHARACTERS_MAX
from agentpost.doors.mcp import files
from agentpost.doors.mcp.backend import Json

_NEXT: Final = {
    "processing": "Call follow_message to wait for its end; it continues without you.",
    "needs_input": "Ask the person, then call answer_question.",
    "blocked": "Nothing more happens: read the reason.",
    "completed": "It is done. Read files with resources/read.",
    "partial": "A part is done; read the results and the reason.",
    "failed": "Read the reason; change the message and send that one.",
    "expired": "Call recover_message later: a late result is given out then.",
}
_NEXT_BY_REASON: Final = {
    "out_of_credits": "Ask the person to add credits: it continues then. Do not repeat it.",
    "hosting_fees": "Ask the person to have the hosting fees cleared, then repeat it.",
    "too_many_running": "Wait until other work has ended, or stop some with stop_work; then send it"
    " again.",
    "agent_busy": "Send it again in 15 seconds.",
    "stopped": "It was stopped; send a message to start again.",
}

_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_ANY_LIST = {"type": "array", "items": {"type": "object"}}
MESSAGE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "message_id": _TEXT,
        "conversation": _MAYBE,
        "status": {**_TEXT, "description": f"One of {', '.join(_NEXT)}."},
        "reason": _MAYBE,
        "final": {"type": "boolean"},
        "question": _MAYBE,
        "answer_format": {
            "type": "object",
            "description": "Only there when the answer is one of `choices`, or JSON for `schema`.",
        },
        "reply": _MAYBE,
        "results": {**_ANY_LIST, "description": "The text of each job that has ended."},
        "jobs": _ANY_LIST,
        "files": {**_ANY_LIST, "description": "Each with a resource `uri` and a download `url`."},
        "notes": {"type": "array", "items": _TEXT},
        "credits_used": {"type": "number"},
        "next_step": _TEXT,
    },
    "required": ["message_id", "status", "final", "next_step"],
}
OBJECT_SCHEMA: Final[dict[str, Any]] = {"type": "object"}


def next_step(status: str, reason: str | None, final: bool) -> str:
    """What to do about a message in that state."""
    waits = status != "processing" and not final
    if reason in _NEXT_BY_REASON and (waits or status in ("blocked", "failed")):
        return _NEXT_BY_REASON[reason]
    if reason == "queue_expired":
        return "No credits came in time: send it again when there are some."
    return _NEXT.get(status, _NEXT["failed"])


def of_message(message: Json, failure: str = "") -> mcp.CallToolResult:
    """The result of a tool that is about a message; ``failure`` says how its turn failed."""
    fields = summary(message, failure)
    links = [files.link(file) for file in message["files"]]
    return mcp.CallToolResult(
        content=[mcp.TextContent(type="text", text=_readable(fields)), *links],
        structured_content=fields,
    )


def of_value(value: Json, text: str, links: Sequence[mcp.ResourceLink] = ()) -> mcp.CallToolResult:
    """The result of a tool that gives an object of the API."""
    return mcp.CallToolResult(
        content=[mcp.TextContent(type="text", text=text), *links], structured_content=value
    )


def summary(message: Json, failure: str = "") -> Json:
    """A message in short, see `MESSAGE_SCHEMA`."""
    results = [
        {
            "job_id": job["job_id"],
            "title": job["title"],
            "outcome": job["status"],
            "text": _cut(job["text"]),
        }
        for job in message["jobs"]
        if job["text"]
    ]
    if failure:
        results.append({"job_id": None, "title": "", "outcome": "failed", "text": failure})
    return {
        "message_id": message["id"],
        "conversation": message.get("conversation"),
        "status": message["status"],
        "reason": message["reason"],
        "final": message["final"],
        "question": message["question"],
        "reply": _cut(message["reply"]),
        "results": results,
        "jobs": [
            {name: job[name] for name in ("job_id", "work_id", "title", "status", "reason")}
            for job in message["jobs"]
        ],
        "files": [files.fact(file) for file in message["files"]],
        "notes": message["notes"],
        "credits_used": message["credits_used"],
        "next_step": next_step(message["status"], message["reason"], message["final"]),
        **{name: message[name] for name in ("answer_format",) if name in message},
    }


def _readable(fields: Json) -> str:
    reason = f" ({fields['reason']})" if fields["reason"] else ""
    parts = [f"{fields['message_id']}: {fields['status']}{reason}"]
    if fields["conversation"]:
        parts.append(f"Conversation: {fields['conversation']}")
    if fields["reply"]:
        parts.append(fields["reply"])
    parts += [f"{each['title']}: {each['text']}" for each in fields["results"]]
    if fields["question"] and fields["question"] not in (fields["reply"] or ""):
        parts.append(f"Question: {fields['question']}")
    answer_format = fields.get("answer_format")
    if answer_format and "choices" in answer_format:
        parts.append(f"Choices: {'; '.join(answer_format['choices'])}")
    elif answer_format:
        parts.append(f"The answer is JSON for this schema: {json.dumps(answer_format['schema'])}")
    parts += [f"Note: {note}" for note in fields["notes"]]
    parts.append(fields["next_step"])
    return "\n\n".join(parts)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MCP_TEXT_CHARACTERS_MAX:
        return text
    return f"{text[:MCP_TEXT_CHARACTERS_MAX]}… (cut; get_work has all of it)"
