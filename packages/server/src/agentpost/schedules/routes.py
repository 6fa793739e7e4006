"""Schedules: messages at given times (design: Schedules)."""

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts.scope_rules import Scope
from agentpost.api.body import read_json
from agentpost.api.operation import CREATED, Api, Command, Operation, Query, Text, respond
from agentpost.api.query import int_param, place_param, time_of
from agentpost.caller import Caller
from agentpost.contract.validation import validate
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode
from agentpost.questions import answers
from agentpost.schedules import actions as schedules
from agentpost.schedules.rules import Missed
from agentpost.schedules.shapes import (
    DeletedScheduleShape,
    ScheduleChangeIn,
    ScheduleIn,
    ScheduleListShape,
    ScheduleShape,
)

LIMIT = Query(
    "limit", "How many to list.", 1, limits.SCHEDULES_PAGE_MAX, limits.SCHEDULES_PAGE_DEFAULT
)
BEFORE = Text(
    "before", "Only schedules older than the one with this id.", pattern=ids.pattern(ids.SCHEDULE)
)
ONE = "/v1/schedules/{schedule_id}"


@Operation(
    id="createSchedule",
    route="POST /v1/schedules",
    scope=Scope.SEND,
    summary="Send a message at given times",
    body=ScheduleIn,
    answer=ScheduleShape,
    successes=(CREATED,),
    errors=(
        ErrorCode.BAD_REQUEST,
        ErrorCode.EMPTY_MESSAGE,
        ErrorCode.TOO_LONG,
        ErrorCode.NOT_FOUND,
    ),
)
async def create(api: Api, request: Request, caller: Caller) -> Response:
    """With `cron` again and again, in a `timezone`; with `at` once. Each run sends an ordinary
    message of this key, once. It counts toward the limits of messages; one that is refused is not
    sent again, and `last_run` says why."""
    body = validate(ScheduleIn, await read_json(api, request))
    message, schema = body.message.model_dump(exclude_none=True), body.message.response_schema
    if schema is not None:  # whole: null has a meaning in it
        field = "message.response_schema"
        schema = await answers.check_schema(api.ctx, caller.account_id, schema, field)
        message["response_schema"] = schema
    at = None if body.at is None else time_of("at", body.at)
    missed, now = Missed(body.missed or Missed.SKIP), api.ctx.clock.now()
    zone = body.timezone or "UTC"
    new = schedules.validate_schedule(body.cron, at, zone, missed, message, now)
    return respond(ScheduleShape.of(await schedules.create(api.ctx, caller, new)), 201)


@Operation(
    id="listSchedules",
    route="GET /v1/schedules",
    scope=Scope.READ,
    summary="List the schedules of this key",
    answer=ScheduleListShape,
    queries=(LIMIT,),
    texts=(BEFORE,),
    command=Command(
        "schedules list",
        ("id", "status", "cron=cron|once", "next_run=next_run_at", "message=message.message"),
        empty="no schedule yet: `agentpost schedules create`",
    ),
)
async def list_schedules(api: Api, request: Request, caller: Caller) -> Response:
    """Newest first, with the next and the last run of each."""
    limit, before = int_param(request, LIMIT), await place_param(api, request, caller, BEFORE)
    records, more = await schedules.page(api.ctx, caller.key_id, before, limit)
    return respond(ScheduleListShape(data=[ScheduleShape.of(s) for s in records], has_more=more))


@Operation(
    id="getSchedule",
    route=f"GET {ONE}",
    scope=Scope.READ,
    summary="Read a schedule",
    answer=ScheduleShape,
    command=Command("schedules show"),
)
async def get(api: Api, _: Request, caller: Caller, schedule_id: str) -> Response:
    """The schedule with its next and its last run."""
    return respond(ScheduleShape.of(await schedules.get(api.ctx, caller.key_id, schedule_id)))


@Operation(
    id="updateSchedule",
    route=f"PATCH {ONE}",
    scope=Scope.SEND,
    summary="Pause or continue a schedule",
    body=ScheduleChangeIn,
    answer=ScheduleShape,
)
async def change(api: Api, request: Request, caller: Caller, schedule_id: str) -> Response:
    """Times that pass while it is paused are not missed runs."""
    body = validate(ScheduleChangeIn, await read_json(api, request))
    if body.paused is None:
        schedule = await schedules.get(api.ctx, caller.key_id, schedule_id)
    else:
        schedule = await schedules.pause(api.ctx, caller.key_id, schedule_id, body.paused)
    return respond(ScheduleShape.of(schedule))


@Operation(
    id="deleteSchedule",
    route=f"DELETE {ONE}",
    scope=Scope.SEND,
    summary="Delete a schedule",
    answer=DeletedScheduleShape,
    command=Command("schedules delete"),
)
async def delete(api: Api, _: Request, caller: Caller, schedule_id: str) -> Response:
    """The messages that it has sent stay."""
    await schedules.delete(api.ctx, caller.key_id, schedule_id)
    return respond(DeletedScheduleShape(id=schedule_id))


OPERATIONS = (create, list_schedules, get, change, delete)
