"""The request inspector: what was asked of the API and what it answered (spec: Limits)."""

import re
from dataclasses import replace
from typing import Final

from starlette.requests import Request

from agentpost.accounts import actions as accounts
from agentpost.context import AppContext
from agentpost.contract.errors import CATALOGUE
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, not_found
from agentpost.domain.limits import REQUEST_FILTER_CHARACTERS_MAX
from agentpost.domain.times import DAY, SECOND
from agentpost.messages import search
from agentpost.messages.pages import REQUESTS
from agentpost.record.records import RequestRecord
from agentpost.requests import actions as requests
from agentpost.requests.filter_rules import METHODS, PERIODS, STATUSES, request_filter
from agentpost.requests.shapes import as_curl, is_cut, pretty
from agentpost.users.role_rules import Right
from agentpost.web.listing import NEW_MAX, Listing
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer
from agentpost.web.rendering import LIVE

_FIELDS: Final = ("q", "key", "method", "status", "error", "since")
_PERIOD_NAMES: Final = {
    "15m": "Last 15 minutes",
    "1h": "Last hour",
    "24h": "Last 24 hours",
    "7d": "Last 7 days",
}
_MESSAGE: Final = re.compile(rf"{ids.MESSAGE}[0-9a-f]{{32}}")
_REFUSED: Final = 400
_STATUS_NAMES: Final = {"failed": "400 and above"}


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The newest requests that fit the filter. The id of a request opens it, except in the stream
    of a live list; other names and ids show the requests about their messages."""
    query, account_id = request.query_params, viewer.account_id
    listing = Listing.of(request, REQUESTS, ids.REQUEST, _FIELDS)
    text = listing.filters.get("q", "").strip()[:REQUEST_FILTER_CHARACTERS_MAX]
    subject = await search.subject(ctx, account_id, text)
    if LIVE not in query and subject.request_id:
        return Redirect(f"{REQUESTS}/{subject.request_id}")
    filters = request_filter({**query, "path": text}, ctx.clock.now())
    has_older_messages = False
    if subject.request_id:
        filters = replace(filters, id=subject.request_id, path=None)
    elif text and not filters.about:
        messages, has_older_messages = await search.messages_about(ctx, account_id, subject, text)
        path = text if subject == search.NOTHING else None
        filters = replace(filters, messages=messages, path=path)
    lines, more = await requests.recent(ctx.db, account_id, filters, before=listing.bound)
    new_count = 0
    if listing.newer_than:
        fresh, _ = await requests.recent(
            ctx.db, account_id, filters, since=listing.newer_than, limit=NEW_MAX
        )
        new_count = len(fresh)
    keys = await accounts.keys_of(ctx, account_id)
    model = {
        **listing.model(more, new_count),
        "lines": lines,
        "has_older_messages": has_older_messages,
        "names": {key.id: key.name for key in keys},
        "conversations": await search.conversation_names(ctx, [line.id for line in lines]),
        "chips": listing.chips(_choices([(key.id, key.name) for key in keys])),
        "fields": _FIELDS[1:],
        "days": round(ctx.settings.request_log_seconds / (DAY / SECOND)),
    }
    live = listing.live(listing.top or (lines[0].id if lines else None))
    return PageView("requests/requests.html", "Requests", model, live=live)


async def show_one(ctx: AppContext, request: Request, viewer: Viewer, request_id: str) -> View:
    """One request with its bodies; raises ``not_found``."""
    line = await requests.get(ctx.db, viewer.account_id, request_id)
    if line is None:
        raise not_found("request")
    keys = {key.id: key.name for key in await accounts.keys_of(ctx, viewer.account_id)}
    sent = (line.method, line.path, line.request_body, line.request_bytes)
    model = {
        "one": line,
        "key": keys.get(line.key_id or "", ""),
        "sent": pretty(line.request_body or ""),
        "answered": pretty(line.response_body or ""),
        "sent_is_cut": is_cut(line.request_body),
        "answered_is_cut": is_cut(line.response_body),
        "curl": as_curl(ctx.settings.public_url, *sent),
        "advice": advice_for(line.error),
        "messages": _message_of(line),
    }
    return PageView("requests/request.html", f"{line.method} {line.path}", model)


def _choices(keys: list[tuple[str, str]]) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    return {
        "status": ("Status", [(each, _STATUS_NAMES.get(each, each)) for each in STATUSES]),
        "method": ("Method", [(each, each) for each in METHODS]),
        "key": ("Key", keys),
        "error": ("Error", [(each.value, each.value) for each in sorted(ErrorCode)]),
        "since": ("Time", [(each, _PERIOD_NAMES[each]) for each in PERIODS]),
    }


def _message_of(one: RequestRecord) -> list[str]:
    """The id of the message a request was about: in its path, or made by it."""
    match = _MESSAGE.search(one.path)
    if match is None and one.status < _REFUSED:
        match = _MESSAGE.search(one.response_body or "")
    return [match[0]] if match else []


def advice_for(error: str | None) -> str | None:
    """What to do about an error code, None when there is none or no longer such a code."""
    try:
        return CATALOGUE[ErrorCode(error)].advice if error else None
    except ValueError:
        return None


PAGES = (
    Page(
        REQUESTS,
        get=show,
        nav=Nav("Dashboard", "Requests", "arrow-left-right"),
        live=True,
        every=2,
        right=Right.READ,
    ),
    Page(f"{REQUESTS}/{{request_id}}", get=show_one, right=Right.READ),
)
