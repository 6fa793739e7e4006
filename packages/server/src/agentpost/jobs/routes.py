"""Works (spec: listWork, getWork; design: Additions)."""

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import admission
from agentpost.accounts.scope_rules import Scope
from agentpost.api.operation import Api, Command, Operation, Query, Text, respond
from agentpost.api.query import int_param, place_param
from agentpost.caller import Caller
from agentpost.domain import ids, limits
from agentpost.domain.limits import INT_PARAM_MAX
from agentpost.jobs import works
from agentpost.jobs.work_shapes import WorkDeletedShape, WorkListShape, WorkShape

LIMIT = Query("limit", "How many to list.", 1, limits.WORK_LIST_MAX, limits.WORK_LIST_DEFAULT)
BEFORE = Text(
    "before", "Only works older than the one with this `work_id`.", pattern=ids.pattern(ids.WORK)
)
FROM_CHAR = Query("from_char", "Where the page of text begins.", 0, INT_PARAM_MAX, 0)


@Operation(
    id="listWork",
    route="GET /v1/work",
    scope=Scope.READ,
    summary="List works, newest first",
    answer=WorkListShape,
    queries=(LIMIT,),
    texts=(BEFORE,),
    command=Command(
        "work list",
        ("work_id", "status", "updated=updated_at", "title", "result=preview"),
        empty='no work yet: agentpost send "…" starts some',
    ),
)
async def list_work(api: Api, request: Request, caller: Caller) -> Response:
    """A work is where the agent's jobs run and leave their files; in the web app it is a chat. All
    keys of the account see all of them, however they were started. While `has_more`, continue with
    `before`: the last one's `work_id`."""
    limit, before = int_param(request, LIMIT), await place_param(api, request, caller, BEFORE)
    return respond(await works.list_works(api.ctx, caller.account_id, limit, before))


@Operation(
    id="getWork",
    route="GET /v1/work/{work_id}",
    scope=Scope.READ,
    summary="Read a work and its newest files",
    answer=WorkShape,
    queries=(FROM_CHAR,),
    command=Command("work show"),
)
async def get(api: Api, request: Request, caller: Caller, work_id: str) -> Response:
    """The latest result comes in pages of 20,000 characters: continue with `next_from_char` until
    it is null. The links of the files are fresh."""
    from_char = int_param(request, FROM_CHAR)
    await admission.work_read(api.ctx, caller)
    return respond(await works.get(api.ctx, caller.account_id, work_id, from_char))


@Operation(
    id="stopWork",
    route="POST /v1/work/{work_id}/stop",
    scope=Scope.SEND,
    summary="Stop everything that runs or waits in a work",
    answer=WorkShape,
    command=Command("work stop"),
)
async def stop(api: Api, _: Request, caller: Caller, work_id: str) -> Response:
    """Its jobs end as `cancelled`, with the files they have made so far. A work in which nothing
    runs stays as it is."""
    work = await works.stop(api.ctx, caller.account_id, work_id)
    return respond(work.shown_to(caller.scopes))


@Operation(
    id="deleteWork",
    route="DELETE /v1/work/{work_id}",
    scope=Scope.ADMIN,
    action="work delete",
    summary="Stop what runs in a work and delete it with its files",
    answer=WorkDeletedShape,
    command=Command("work delete"),
)
async def delete(api: Api, _: Request, caller: Caller, work_id: str) -> Response:
    """It cannot be undone. The work and its files answer 404 from then on."""
    await works.delete(api.ctx, caller.account_id, work_id)
    return respond(WorkDeletedShape(work_id=work_id))


OPERATIONS = (list_work, get, stop, delete)
