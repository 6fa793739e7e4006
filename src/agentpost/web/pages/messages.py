"""Every message of the account, and what happened to one of them, as a picture and as a list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request

from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.message import MessageStatus
from agentpost.domain.message_filter import message_filter
from agentpost.services import accounts, messages, timeline
from agentpost.services.context import AppContext
from agentpost.services.explaining import EXPLANATIONS
from agentpost.services.timeline import Span, TimelineEvent
from agentpost.web.environment import words
from agentpost.web.forms import Form
from agentpost.web.page import Nav, Page, Redirect, Shown, View, Viewer

PATH: Final = "/dashboard/messages"
_FIELDS: Final = ("text", "status", "key", "conversation")
_LINES_MAX: Final = 500
_WIDTH: Final = 1000


@dataclass(frozen=True, slots=True)
class Bar:
    """A span in the picture: its left end and its width, in parts of a thousand."""

    span: Span
    x: float
    width: float
    ms: int


@dataclass(frozen=True, slots=True)
class Line:
    """An event of the list, ``ms`` after the message came."""

    event: TimelineEvent
    ms: int
    facts: str


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The newest messages that fit the filter; an id as text opens that message."""
    given = request.query_params
    if ids.is_id(ids.MESSAGE, given.get("text", "").strip()):
        return Redirect(f"{PATH}/{given['text'].strip()}")
    before = given.get("before", "")
    lines, more = await messages.page(
        ctx,
        viewer.account_id,
        message_filter(given),
        before=before if ids.is_id(ids.MESSAGE, before) else None,
    )
    keys = await accounts.keys_of(ctx, viewer.account_id)
    kept = {name: given[name] for name in _FIELDS if given.get(name)}
    model = {
        "lines": lines,
        "form": Form({name: [value] for name, value in kept.items()}),
        "filtered": bool(kept),
        "statuses": [("", "Any status"), *((each.value, words(each)) for each in MessageStatus)],
        "keys": [("", "Any key"), *((key.id, key.name) for key in keys)],
        "older": f"{PATH}?{urlencode({**kept, 'before': more})}" if more else None,
        "newer": f"{PATH}?{urlencode(kept)}" if before else None,
    }
    return Shown("pages/messages.html", "Messages", model)


async def show_one(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """One message with its timeline; raises ``not_found``."""
    found = await timeline.build(ctx, request.path_params["message_id"], viewer.account_id)
    message = found.message
    keys = {key.id: key.name for key in await accounts.keys_of(ctx, viewer.account_id)}
    now = ctx.clock.now()
    model = {
        "message": message,
        "metadata": json.loads(message.metadata_json) if message.metadata_json else {},
        "key": keys.get(message.key_id, ""),
        "jobs": found.jobs,
        "credits": to_credits(sum(job.credits_used for job in found.jobs)),
        "explained": EXPLANATIONS.get(message.reason) if message.reason else None,
        "bars": _bars(found.spans, message.created_at, now),
        "lines": [_line(event, message.created_at) for event in found.lines[:_LINES_MAX]],
        "left_out": max(0, len(found.lines) - _LINES_MAX),
    }
    return Shown("pages/message.html", "Message", model)


def _bars(spans: Sequence[Span], start: int, now: int) -> list[Bar]:
    """Where each span lies between the message's arrival and the last span's end."""
    ends = [span.end if span.end is not None else now for span in spans]
    whole = max([end - start for end in ends], default=0) or 1
    bars = []
    for span, end in zip(spans, ends, strict=True):
        x = _WIDTH * max(0, span.start - start) / whole
        width = max(4.0, _WIDTH * (end - max(span.start, start)) / whole)
        bars.append(
            Bar(span, round(min(x, _WIDTH - 4), 1), round(width, 1), (end - span.start) // 1_000)
        )
    return bars


def _line(event: TimelineEvent, start: int) -> Line:
    facts = json.dumps(
        {name: value for name, value in event.facts.items() if value is not None},
        ensure_ascii=False,
        indent=1,
    )
    return Line(event, (event.at - start) // 1_000, facts if facts != "{}" else "")


PAGES = (
    Page(PATH, get=show, nav=Nav("Dashboard", "Messages", "messages-square")),
    Page(f"{PATH}/{{message_id}}", get=show_one, live=True),
)
