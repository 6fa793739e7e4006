"""The Response object and the events of its stream, made of what a message has brought."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from agentpost.contract.shape import Links
from agentpost.domain.credits import to_credits
from agentpost.domain.times import SECOND
from agentpost.doors.openai.items import item_id_of, response_id_of
from agentpost.doors.openai.parameters import OWN_MODEL
from agentpost.doors.openai.states import error_of, incomplete_of, status_of
from agentpost.doors.outputs import Output, changed_at, outputs_of
from agentpost.doors.writing import pieces
from agentpost.following.followers import Moment
from agentpost.jobs.rules import JobRole
from agentpost.messages.shapes import MessageShape
from agentpost.record.records import MessageRecord, Snapshot

Json = dict[str, Any]


BETWEEN: Final = "\n\n"
"""The blank line between two outputs."""


@dataclass(frozen=True, slots=True)
class Echo:
    """What a call that sends something gets back of what it asked for; it is not stored."""

    ignored: Sequence[str] = ()
    """Parameters that have no effect."""
    background: bool | None = None
    previous_response_id: str | None = None
    include_usage: bool = False


def response(moment: Moment, links: Links, echo: Echo = Echo()) -> Json:
    """The Response of a message. ``agentpost`` is the message as the API itself shows it."""
    snapshot = moment.snapshot
    message = snapshot.message
    shape = MessageShape.of(snapshot, links)
    status = status_of(snapshot, moment.cancelled)
    items = [item(each, n) for n, each in enumerate(outputs_of(snapshot, links))]
    is_completed = status == "completed"
    ignored = {"ignored": list(echo.ignored)} if echo.ignored else {}
    return {
        **_head(moment, echo),
        "status": status,
        "error": error_of(snapshot, moment.cancelled),
        "incomplete_details": incomplete_of(snapshot),
        "metadata": shape.metadata if shape.metadata is not msgspec.UNSET else {},
        "output": items,
        "completed_at": changed_at(snapshot) / SECOND if is_completed else None,
        "usage": _usage(snapshot) if message.final else None,
        "agentpost": {**msgspec.to_builtins(shape), **ignored},
    }


def empty_response(moment: Moment, echo: Echo) -> Json:
    """The Response as it was when it had brought nothing."""
    return {
        **_head(moment, echo),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "metadata": {},
        "output": [],
        "completed_at": None,
        "usage": None,
    }


def _head(moment: Moment, echo: Echo) -> Json:
    message = moment.snapshot.message
    return {
        "id": response_id_of(message.id),
        "object": "response",
        "created_at": message.created_at / SECOND,
        "model": OWN_MODEL,
        "background": echo.background,
        "previous_response_id": echo.previous_response_id,
        "conversation": {"id": moment.conversation},
        "instructions": None,
        "max_output_tokens": None,
        "parallel_tool_calls": True,
        "reasoning": None,
        "store": True,
        "temperature": 1.0,
        "text": {"format": _text_format(message)},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
    }


def _usage(snapshot: Snapshot) -> Json:
    """Tokens are the agent's own business and not counted; what work costs are credits."""
    started = [link.job for link in snapshot.links if link.role is JobRole.EXECUTION]
    return {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
        "credits_used": to_credits(sum(job.credits_used for job in started)),
    }


def _text_format(message: MessageRecord) -> Json:
    if message.response_schema_json is None:
        return {"type": "text"}
    schema = json.loads(message.response_schema_json)
    return {"type": "json_schema", "name": "output", "schema": schema, "strict": True}


# --- outputs --------------------------------------------------------------------------------------
def item(output: Output, index: int) -> Json:
    """An output message with its text, in which each file is an annotation.

    The text of a second output and of later ones begins with a blank line: ``output_text`` of
    OpenAI's clients joins the texts with nothing between them.
    """
    return {**_item_head(output.id), "status": "completed", "content": [_part(output, index)]}


def _item_head(source: str) -> Json:
    return {"id": item_id_of(source), "type": "message", "role": "assistant"}


def _part(output: Output, index: int) -> Json:
    return {
        "type": "output_text",
        "text": with_separator(output.shown, index),
        "annotations": _annotations(output, index),
        "logprobs": [],
    }


def with_separator(text: str, index: int) -> str:
    """The beginning of an output's text, with the blank line that separates outputs."""
    return f"{BETWEEN}{text}" if text and index else text


def _annotations(output: Output, index: int) -> list[Json]:
    end = len(with_separator(output.shown, index))
    return [
        {
            "type": "container_file_citation",
            "container_id": file.work_id,
            "file_id": file.file_id,
            "filename": file.name,
            "start_index": end,
            "end_index": end,
        }
        for file in output.files
    ]


# --- the stream -----------------------------------------------------------------------------------
def opening(moment: Moment, echo: Echo) -> list[Json]:
    """How each stream begins."""
    fields = empty_response(moment, echo)
    return [
        {"type": "response.created", "response": fields},
        {"type": "response.in_progress", "response": fields},
    ]


def item_begun(source: str, index: int) -> list[Json]:
    """The events that open an output."""
    head = _item_head(source)
    empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**head, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **_place(source, index), "part": empty},
    ]


def text_delta(source: str, index: int, piece: str) -> Json:
    """The event that has a piece of its text."""
    return {
        "type": "response.output_text.delta",
        **_place(source, index),
        "delta": piece,
        "logprobs": [],
    }


def text_deltas(output: Output, index: int) -> list[Json]:
    """Its whole text in pieces, which are the same whenever they are asked for."""
    texts = list(pieces(output.shown))
    texts[:1] = [with_separator(piece, index) for piece in texts[:1]]
    return [text_delta(output.id, index, piece) for piece in texts]


def item_ended(output: Output, index: int) -> list[Json]:
    """The events that close an output, behind its text."""
    where = _place(output.id, index)
    return [
        *(
            {
                "type": "response.output_text.annotation.added",
                **where,
                "annotation_index": n,
                "annotation": annotation,
            }
            for n, annotation in enumerate(_annotations(output, index))
        ),
        {
            "type": "response.output_text.done",
            **where,
            "text": with_separator(output.shown, index),
            "logprobs": [],
        },
        {"type": "response.content_part.done", **where, "part": _part(output, index)},
        {"type": "response.output_item.done", "output_index": index, "item": item(output, index)},
    ]


def item_left(source: str, index: int, text: str) -> list[Json]:
    """The events that close an output whose text was begun and never came."""
    *before, last = item_ended(Output(source, "", text, ()), index)
    return [*before, {**last, "item": {**last["item"], "status": "incomplete"}}]


def _place(source: str, index: int) -> Json:
    return {"item_id": _item_head(source)["id"], "output_index": index, "content_index": 0}


def closing(response: Json) -> Json:
    """The event that ends a stream: of its status, or ``response.in_progress`` for one that is
    still at work when its call has been held long enough.

    OpenAI's API has no event for a cancelled response. Its clients know three that end a stream;
    ``response.failed`` is the one of them that no client takes for an answer. The response in it
    is ``cancelled`` and its error says so.
    """
    names = {"cancelled": "failed"}
    status = names.get(response["status"], response["status"])
    return {"type": f"response.{status}", "response": response}
