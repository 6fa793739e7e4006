"""What the account used (design: Usage)."""

import re
from dataclasses import replace
from datetime import date
from typing import Annotated, Literal

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts.scope_rules import Scope
from agentpost.api.operation import Api, Operation, Query, Text, respond
from agentpost.api.query import checked_param, choice_param, int_param, place_param
from agentpost.caller import Caller
from agentpost.contract.shape import Shape, about
from agentpost.credits import usage
from agentpost.credits.rules import ID_PATTERNS, UsageGroup
from agentpost.domain import limits
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.limits import USAGE_DAYS_DEFAULT, USAGE_DAYS_MAX
from agentpost.domain.times import DAY, SECOND, parse_iso

LIMIT = Query("limit", "How many to list.", 1, limits.USAGE_PAGE_MAX, limits.USAGE_PAGE_DEFAULT)
BEFORE = Text(
    "before", "Only lines with an `id` less than this one.", pattern="|".join(ID_PATTERNS.values())
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_EPOCH = date(1970, 1, 1)


class UsageShape(Shape):
    """The use of a day, a key or a conversation."""

    object: Literal["usage"] = "usage"
    group: UsageGroup
    id: Annotated[
        str,
        about(
            "The day in UTC such as `2026-01-31`, the id of the key or of the conversation; `app`"
            " for messages from the web app, `deleted` for credits whose message is deleted."
        ),
    ]
    name: Annotated[
        str | None,
        about(
            "The name of the key or conversation; null for a day, without one, and for the"
            " conversation of another key unless the key has the scope `read_all`."
        ),
    ]
    messages: int
    jobs: Annotated[int, about("Jobs that these messages started; refused starts do not count.")]
    credits: Annotated[float, about("Credits charged in this time.")]


class UsageListShape(Shape):
    """A page of usage, by `id`, the greatest first; continue with `before` = the last `id`."""

    object: Literal["list"] = "list"
    data: list[UsageShape]
    has_more: bool


@Operation(
    id="listUsage",
    route="GET /v1/usage",
    scope=Scope.READ,
    summary="Sum up what the account used",
    description=(
        "Messages, the jobs they started and the credits charged, for each UTC day, key or"
        f" conversation, of all keys of the account. At most {USAGE_DAYS_MAX} days. Messages"
        " and jobs count while they are kept, credits for good."
    ),
    answer=UsageListShape,
    queries=(LIMIT,),
    texts=(
        Text("group_by", "Sum up by day (default), key or conversation.", tuple(UsageGroup)),
        Text(
            "from",
            "The first moment: a day such as `2026-01-31`, which is its midnight in UTC, or an"
            f" ISO 8601 time with its offset. Without it the last {USAGE_DAYS_DEFAULT} days"
            " before `to`, begun ones included.",
        ),
        Text("to", "The first moment that does not count, as `from`; now by default."),
        BEFORE,
    ),
)
async def list_usage(api: Api, request: Request, caller: Caller) -> Response:
    """The account's usage, by day, key or conversation."""
    limit = int_param(request, LIMIT)
    group = UsageGroup(choice_param(request, "group_by", UsageGroup) or UsageGroup.DAY)
    place = replace(BEFORE, pattern=ID_PATTERNS[group])
    before = await place_param(api, request, caller, place)
    since, until = _range(request, api.ctx.clock.now())
    lines, more = await usage.list_page(
        api.ctx, caller, group, since, until, before=before, limit=limit
    )
    data = [UsageShape.with_fields_of(line, group=group) for line in lines]
    return respond(UsageListShape(data=data, has_more=more))


def _range(request: Request, now: int) -> tuple[int, int]:
    """From when to before when, in microseconds; raises ``invalid_request``."""
    until = _time(request, "to")
    until = now + SECOND if until is None else until
    since = _time(request, "from")
    if since is None:
        since = (until - 1) // DAY * DAY - (USAGE_DAYS_DEFAULT - 1) * DAY
    if since >= until:
        raise InvalidRequest(Problem("from", "must be earlier than `to`"))
    if until - since > USAGE_DAYS_MAX * DAY:
        problem = f"must be at most {USAGE_DAYS_MAX} days before `to`"
        raise InvalidRequest(Problem("from", problem))
    return since, until


def _time(request: Request, name: str) -> int | None:
    text = checked_param(request, name)
    if text is None:
        return None
    try:
        if _DAY.fullmatch(text):
            return (date.fromisoformat(text) - _EPOCH).days * DAY
        return parse_iso(text)
    except ValueError:
        problem = "must be a day such as 2026-01-31, or an ISO 8601 time with its offset"
        raise InvalidRequest(Problem(name, problem)) from None


OPERATIONS = (list_usage,)
