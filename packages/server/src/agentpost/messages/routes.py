"""Messages (spec: createMessage, getMessage, recoverMessage)."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import admission
from agentpost.accounts.scope_rules import Scope
from agentpost.api.body import read_json, read_optional_json
from agentpost.api.header_docs import ETAG, IDEMPOTENCY_KEY, IF_NONE_MATCH, REPLAYED, TRACEPARENT
from agentpost.api.long_texts import LongText
from agentpost.api.operation import Api, Command, Operation, Query, Success, respond, watch_hang_up
from agentpost.api.query import int_param, optional_int_param
from agentpost.caller import Caller
from agentpost.contract.validation import validate
from agentpost.domain import limits
from agentpost.domain.credits import to_millionths
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem
from agentpost.following import long_polls
from agentpost.http.bodies import BodySlot
from agentpost.http.conditions import versions_of
from agentpost.http.headers import header, headers
from agentpost.jobs import recovery
from agentpost.jobs.work_shapes import RecoveryShape
from agentpost.messages import idempotency_rules, sending, traceparent_rules
from agentpost.messages.body_shapes import (
    MessageIn,
    RecoverIn,
    refuse_by_name,
    too_long,
)
from agentpost.messages.new_messages import NewMessage, from_fields
from agentpost.messages.shapes import MessageShape
from agentpost.record import reading
from agentpost.record.records import Snapshot
from agentpost.uploads.attachments import InlineFile

WAIT = Query(
    "wait",
    "Hold the call up to that many seconds, until something changes.",
    0,
    limits.WAIT_SECONDS_MAX,
    0,
)
SEND_WAIT = Query(
    "wait",
    "Hold the call at most that many seconds for the agent's answer. With 0 it is answered as soon"
    " as the message is accepted. Left out, or above what the server allows, the server's own limit"
    " holds, about 30 seconds.",
    0,
    limits.WAIT_SECONDS_MAX,
    None,
)


@Operation(
    id="createMessage",
    route="POST /v1/messages",
    scope=Scope.SEND,
    summary="Send a message to the agent",
    body=MessageIn,
    answer=MessageShape,
    successes=(
        Success(201, "A new message.", (ETAG,)),
        Success(200, "The message this call repeats, as it is by now.", (ETAG, REPLAYED)),
    ),
    errors=(
        ErrorCode.EMPTY_MESSAGE,
        ErrorCode.TOO_LONG,
        ErrorCode.TOO_MANY,
        ErrorCode.NOT_FOUND,
        ErrorCode.IDEMPOTENCY_CONFLICT,
        ErrorCode.UPLOAD_NOT_READY,
    ),
    queries=(SEND_WAIT,),
    headers=(IDEMPOTENCY_KEY, TRACEPARENT),
)
async def create(api: Api, request: Request, caller: Caller) -> Response:
    """Answers when the agent has, after about 30 seconds at the latest; with `wait=0` at once, to
    read the reply while it is written with streamMessage. `final` tells whether that was all: if
    not, the agent has started jobs, which continue. Follow them with getMessage, listMessageEvents
    or a webhook endpoint. No credits, too many running jobs, a failed job and a question are not
    errors: read `status` and `reason`. With an `Idempotency-Key` the call can be sent again after
    any failure."""
    api.ctx.intake.check(caller.account_id)
    count = partial(admission.large_body, api.ctx, caller)
    async with BodySlot(api.body_budget, caller.account_id, count) as slot:
        new = await sending.admit(api.ctx, caller, await _read(api, request, slot))
    # The body, what was read from it and its files' bytes are let go by now: the call may be held
    # for long.
    snapshot, is_new = await sending.send(api.ctx, caller, new, partial(watch_hang_up, request))
    if is_new:
        return message_response(api, snapshot, 201, {})
    return message_response(api, snapshot, 200, {"Idempotent-Replayed": "true"})


async def _read(api: Api, request: Request, slot: BodySlot) -> NewMessage:
    """The message of the body."""
    body = await read_json(api, request, _refuse_by_name, slot)
    files, has_files = None, body.get("files")
    if has_files:
        files_beyond, contents = _cut_files(body), _detach_contents(body)
    fields = dict(validate(MessageIn, body))
    if has_files:
        files = [
            InlineFile(f.name, f.url, contents.get(n, f.base64), f.content_type)
            for n, f in enumerate(fields["files"] or [])
        ]
        files += files[:1] * files_beyond
    traceparent = header(request, b"traceparent")
    return from_fields(
        fields,
        files,
        idempotency_key=idempotency_key_of(request),
        traceparent=None if traceparent is None else traceparent_rules.valid(traceparent),
        wait_seconds=optional_int_param(request, SEND_WAIT),
    )


@Operation(
    id="getMessage",
    route="GET /v1/messages/{message_id}",
    scope=Scope.READ,
    summary="Read a message, or wait for it to change",
    answer=MessageShape,
    successes=(
        Success(200, "The message.", (ETAG,)),
        Success(304, "Nothing is newer than the given ETag.", (ETAG,), has_body=False),
    ),
    queries=(WAIT,),
    headers=(IF_NONE_MATCH,),
    command=Command("messages show", help="Show a message with its reply, jobs and files"),
)
async def get(api: Api, request: Request, caller: Caller, message_id: str) -> Response:
    """With `wait` the call is held until the status, the reply or the status of a job changes, or
    until the message is final; else it is answered unchanged when the time is over. Follow a
    message by calling this with `wait=45` until `final` is true."""
    wait = int_param(request, WAIT)
    has_seen = versions_of(headers(request, b"if-none-match"))
    if wait > 0:
        await admission.wait(api.ctx, caller)
    if wait == 0:
        snapshot = await reading.get(api.ctx, caller, message_id)
    else:
        snapshot = await long_polls.until_changed(
            api.ctx,
            caller,
            message_id,
            wait,
            has_seen,
            partial(watch_hang_up, request),
        )
    if has_seen is not None and has_seen(snapshot.message.version):
        return Response(status_code=304, headers={"ETag": f'"v{snapshot.message.version}"'})
    return message_response(api, snapshot, 200, {})


@Operation(
    id="recoverMessage",
    route="POST /v1/messages/{message_id}/recover",
    scope=Scope.SEND,
    summary="Watch a message's expired work again",
    body=RecoverIn,
    body_required=False,
    answer=RecoveryShape,
    is_repeatable=True,
)
async def recover(api: Api, request: Request, caller: Caller, message_id: str) -> Response:
    """Work that did not report back in time has expired for its message, but may continue. This
    call checks again and returns a result that came late. No work is started, and the message is
    not sent again. With `max_credits`, work that is parked because the message may use no more
    credits continues as far as they reach."""
    body = validate(RecoverIn, await read_optional_json(api, request))
    max_credits = None if body.max_credits is None else to_millionths(body.max_credits)
    return respond(await recovery.recover(api.ctx, caller, message_id, max_credits))


def message_response(api: Api, snapshot: Snapshot, status: int, more: dict[str, str]) -> Response:
    """A Message as an answer; ``more``: its headers besides the ETag."""
    more["ETag"] = f'"v{snapshot.message.version}"'
    return respond(MessageShape.of(snapshot, api.ctx.links), status, more)


def _refuse_by_name(body: dict[str, Any]) -> None:
    """See `bodies.refuse_by_name`; of a long text the blanks around it go first."""
    text = body.get("message")
    if isinstance(text, LongText):
        body["message"] = text.strip(limits.MESSAGE_CHARACTERS_MAX)
        if body["message"] is None:
            raise too_long()
    refuse_by_name(body)


def _cut_files(body: dict[str, Any]) -> int:
    """Leave so many files in the body as any list may have; how many were beyond. Of files that are
    not taken only their number matters, which a note tells (spec: createMessage)."""
    files = body.get("files")
    if not isinstance(files, list) or len(files) <= limits.LIST_ITEMS_MAX:
        return 0
    body["files"] = files[: limits.LIST_ITEMS_MAX]
    return len(files) - limits.LIST_ITEMS_MAX


def _detach_contents(body: dict[str, Any]) -> dict[int, LongText]:
    """Long contents of files, by the file's place; "" stands for them in the body from then on."""
    files, contents = body.get("files"), {}
    for n, file in enumerate(files if isinstance(files, list) else ()):
        if isinstance(file, dict) and isinstance(file.get("base64"), LongText):
            contents[n] = file["base64"]
            file["base64"] = ""
    return contents


def idempotency_key_of(request: Request) -> str | None:
    """The `Idempotency-Key` of a request; raises ``invalid_request`` for two of them."""
    keys = headers(request, b"idempotency-key")
    if len(keys) > 1:
        raise InvalidRequest(Problem("Idempotency-Key", "the header is given twice"))
    return idempotency_rules.key_of(keys[0]) if keys else None


OPERATIONS = (create, get, recover)
