"""Every message of the account, and what happened to one of them, as a picture and as a list."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request

from agentpost.accounts import authors
from agentpost.chats.chat_pages import RECOVERED
from agentpost.chats.exchanges import state_of_job
from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import HOUR, MINUTE, SECOND
from agentpost.explain import timeline
from agentpost.explain.reasons import EXPLANATIONS, Explanation, explain, is_recoverable
from agentpost.explain.timeline import Span, TimelineEvent
from agentpost.files import views
from agentpost.jobs import recovery
from agentpost.jobs.rules import VIEWS
from agentpost.messages import search
from agentpost.messages.filter_rules import message_filter
from agentpost.messages.rules import MessageStatus
from agentpost.record import conversation_titles, reading
from agentpost.record.records import FileRecord, JobRecord, MessageRecord
from agentpost.users.role_rules import Right
from agentpost.web.environment import words
from agentpost.web.listing import NEW_MAX, Listing
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer
from agentpost.web.rendering import LIVE

PATH: Final = "/dashboard/messages"
REQUESTS: Final = "/dashboard/requests"
_FIELDS: Final = ("q", "status", "key")
_LINES_MAX: Final = 300
"""In one part of a timeline."""
_SAID_CHARACTERS: Final = 300
_WIDTH: Final = 1000
_WIDTH_MIN: Final = 4
"""What takes no time is still seen."""
_TICKS: Final = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A span in the picture: its left end and its width, in parts of a thousand; how long it took,
    in words."""

    span: Span
    x: float
    width: float
    took: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars on one axis of time, and the times along it; how many attempts came later."""

    bars: Sequence[Bar]
    ticks: Sequence[tuple[float, str]]
    later: int


@dataclass(frozen=True, slots=True)
class Line:
    """An event of the list, ``ms`` after the message came; ``text``: what it says, cut."""

    event: TimelineEvent
    ms: int
    text: str
    facts: str


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The newest messages that fit the filter. A search that names one message or request exactly
    opens it; the name of a conversation shows all its messages. A live list stays a list: its
    stream cannot open another page when such a message arrives."""
    query = request.query_params
    listing = Listing.of(request, PATH, ids.MESSAGE, _FIELDS)
    filters, account_id = message_filter(query), viewer.account_id
    subject = await search.subject(ctx, account_id, filters.text or "")
    if LIVE not in query and subject.request_id:
        return Redirect(f"{REQUESTS}/{subject.request_id}")
    if LIVE not in query and len(subject.message_ids) == 1:
        return Redirect(f"{PATH}/{subject.message_ids[0]}")
    if subject.message_ids or subject.conversation_ids:
        filters = replace(
            filters, text=None, ids=subject.message_ids, conversation_ids=subject.conversation_ids
        )
    lines, more = await reading.page(ctx, account_id, filters, before=listing.bound)
    new_count = 0
    if listing.newer_than:
        fresh, _ = await reading.page(
            ctx, account_id, filters, since=listing.newer_than, limit=NEW_MAX
        )
        new_count = len(fresh)
    author_names = await authors.of_account(ctx, account_id)
    model = {
        **listing.model(more, new_count),
        "lines": lines,
        "chips": listing.chips(
            {
                "status": ("Status", [(each.value, words(each)) for each in MessageStatus]),
                "key": ("From", [*author_names.keys.items(), (account_id, authors.APP)]),
            }
        ),
        "authors": author_names,
        "request_id": subject.request_id,
    }
    live = listing.live(listing.top or (lines[0].id if lines else None))
    return PageView("messages/messages.html", "Messages", model, live=live)


async def show_one(ctx: AppContext, request: Request, viewer: Viewer, message_id: str) -> View:
    """One message with its timeline; raises ``not_found``."""
    part_text = request.query_params.get("part", "")
    part_number = (
        int(part_text)
        if part_text.isascii() and part_text.isdecimal() and len(part_text) < 9
        else None
    )
    # Without a number it is the last part, which is shown while the log grows: not read whole.
    part_lines = _LINES_MAX if part_number is None else None
    view = await timeline.build(ctx, message_id, viewer.account_id, part_lines)
    message = view.message
    author_names = await authors.of_account(ctx, viewer.account_id)
    now = ctx.clock.now()
    parts = max(1, -(-view.total // _LINES_MAX))
    part = parts if part_number is None else min(max(part_number, 1), parts)
    first = 0 if part_number is None else (part - 1) * _LINES_MAX
    model = {
        "message": message,
        "heading": conversation_titles.of(message) or "Message without text",
        "metadata": json.loads(message.metadata_json) if message.metadata_json else {},
        "author": author_names.name(message.key_id, message.user_id),
        "jobs": [
            (job, state_of_job(job), _files_of(view.files, job.id, message.text))
            for job in view.jobs
        ],
        "reply_files": _files_of(view.files, None, message.text),
        "credits": to_credits(sum(job.credits_used for job in view.jobs)),
        "explained": _explanation(view.message, view.jobs),
        "can_recover": any(is_recoverable(job) for job in view.jobs),
        "picture": _picture(view.spans, message.created_at, now),
        "attachments": [
            (each, views.attachment_as_file(each, viewer.account_id)) for each in view.attachments
        ],
        "deliveries": view.deliveries,
        "events": {delivery.event_id: delivery.event for delivery in view.deliveries},
        "lines": [
            _line(event, message.created_at) for event in view.lines[first : first + _LINES_MAX]
        ],
        "part": part,
        "parts": parts,
    }
    # A part that is asked for by its number stays as it is; the last one grows.
    return PageView("messages/message.html", "Message", model, live=None if part_text else {})


async def recover(ctx: AppContext, _: Request, viewer: Viewer, message_id: str) -> View:
    """Look for the result of what expired, or watch it again; raises ``not_found``."""
    state = await recovery.recover_for(ctx, viewer.account_id, message_id)
    return Redirect(f"{PATH}/{message_id}", note=state.value)


def _files_of(
    files: Sequence[FileRecord], job_id: str | None, request_text: str
) -> views.FileArrangement:
    """The files of a job, or of the reply, with what was asked for first."""
    return views.arrange([each for each in files if each.job_id == job_id], request_text)


def _explanation(message: MessageRecord, jobs: Sequence[JobRecord]) -> Explanation | None:
    """Why the message is not plainly done; of its jobs' reasons the message has the first."""
    of_jobs = (
        explain(job) for job in jobs if message.reason is (VIEWS[job.state].reason or job.reason)
    )
    explanation = next((each for each in of_jobs if each), None)
    return explanation or (EXPLANATIONS[message.reason] if message.reason else None)


def _picture(spans: Sequence[Span], start: int, now: int) -> Picture:
    """Where each span lies between the message's arrival and the last end of its work or of a first
    attempt. Retries may follow for days, beside which all else would be a dot."""
    until = max((span.end or now for span in spans if not _is_retry(span)), default=start)
    visible_spans = [span for span in spans if not _is_retry(span) or span.start < until]
    whole = max(until - start, 1)
    bars = []
    for span in visible_spans:
        end = span.end if span.end is not None else now
        x = min(_WIDTH * max(0, span.start - start) / whole, _WIDTH - _WIDTH_MIN)
        width = max(_WIDTH_MIN, _WIDTH * (end - max(span.start, start)) / whole)
        width = min(width, _WIDTH - x)
        took = duration(max(0, end - span.start))
        bars.append(Bar(span, round(x, 1), round(width, 1), took))
    ticks = [(n * 100 / _TICKS, duration(whole * n // _TICKS)) for n in range(_TICKS + 1)]
    return Picture(bars, ticks, len(spans) - len(visible_spans))


def _is_retry(span: Span) -> bool:
    return span.attempt is not None and span.attempt[2] > 1


def duration(microseconds: int) -> str:
    """A time as people say it: ``40 ms``, ``1.25 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if microseconds < SECOND:
        return f"{microseconds / 1_000:.0f} ms"
    if microseconds < MINUTE:
        return f"{microseconds / SECOND:.2f} s"
    if microseconds < HOUR:
        return f"{microseconds // MINUTE} min {microseconds % MINUTE // SECOND} s"
    return f"{microseconds // HOUR} h {microseconds % HOUR // MINUTE} min"


def _line(event: TimelineEvent, start: int) -> Line:
    facts = json.dumps(
        {name: value for name, value in event.facts.items() if value is not None},
        ensure_ascii=False,
        indent=1,
    )
    text = event.facts.get("text")
    summary = text[:_SAID_CHARACTERS] if isinstance(text, str) else ""
    return Line(event, (event.at - start) // 1_000, summary, facts if facts != "{}" else "")


PAGES = (
    Page(
        PATH,
        get=show,
        nav=Nav("Dashboard", "Messages", "messages-square"),
        live=True,
        right=Right.READ,
    ),
    Page(f"{PATH}/{{message_id}}", get=show_one, live=True, right=Right.READ, notes=RECOVERED),
    Page(f"{PATH}/{{message_id}}/recover", post=recover, right=Right.WORK),
)
