"""Messages (spec: createMessage, getMessage, recoverMessage)."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agentpost.api import misspelt
from agentpost.api.body import read_json, read_optional_json, validated
from agentpost.api.header_docs import ETAG, IDEMPOTENCY_KEY, IF_NONE_MATCH, REPLAYED, TRACEPARENT
from agentpost.api.long_texts import LongText
from agentpost.api.operation import Api, Operation, Query, Success, respond, watch_hang_up
from agentpost.api.query import int_param, optional_int_param
from agentpost.contract.bodies import InlineFileIn, MessageIn, RecoverIn
from agentpost.contract.message import MessageShape
from agentpost.contract.recovery import RecoveredWorkShape, RecoveryShape
from agentpost.domain import idempotency, limits, tracing
from agentpost.domain.credits import to_millionths
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.domain.message import WhenBusy
from agentpost.domain.records import Snapshot
from agentpost.domain.scopes import Scope
from agentpost.http.bodies import BodySlot
from agentpost.http.conditions import if_none_match
from agentpost.http.headers import header, headers
from agentpost.ratelimit.base import RateDecision
from agentpost.services import admission, long_poll, messages, sending
from agentpost.services import recover as recovering
from agentpost.services.attachments import InlineFile, without_contents
from agentpost.services.messages import Caller
from agentpost.services.sending import Accepted, Admitted, NewMessage

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


async def create(api: Api, request: Request, caller: Caller) -> Response:
    """Accept a message and answer when its turn has ended, or the window is over."""
    api.ctx.intake.check(caller.account_id)
    counted: list[RateDecision] = []

    async def count() -> None:  # a large body counts against the account's limit while refused
        counted.append(await admission.large_body(api.ctx, caller))

    async with api.body_budget.slot(caller.account_id, count) as slot:
        admitted = await _admit(api, request, caller, slot)
    for decision in counted:
        await admission.not_refused(api.ctx, caller, decision)
    # The body, what was read from it and its files' bytes are let go by now: the call may be held
    # for long.
    sent = await sending.send(api.ctx, caller, admitted, watch_hang_up(request))
    more = {} if sent.fresh else {"Idempotent-Replayed": "true"}
    return message_response(api, sent.snapshot, 201 if sent.fresh else 200, more)


async def _admit(api: Api, request: Request, caller: Caller, slot: BodySlot) -> Admitted | Accepted:
    """Read the message and have it admitted; keeps nothing of the body."""
    new, files = await _read(api, request, slot)
    return await sending.admit(api.ctx, caller, new, files)


async def _read(api: Api, request: Request, slot: BodySlot) -> tuple[NewMessage, list[InlineFile]]:
    """The message of the body and its inline files, still encoded."""
    body = await read_json(api, request, _refuse_by_name, slot)
    beyond = _cut_files(body)
    contents = _detach_contents(body)
    shape = validated(MessageIn, body)
    files = _inline_files(shape.files or [], contents)
    return _new_message(request, shape), files + files[:1] * beyond


async def get(api: Api, request: Request, caller: Caller) -> Response:
    """A message; with `wait` held until its status, reply or a job's status changes."""
    message_id = request.path_params["message_id"]
    wait = int_param(request, WAIT)
    has = if_none_match(headers(request, b"if-none-match"))
    if wait > 0:
        await admission.wait(api.ctx, caller)
    if wait == 0:
        snapshot = await messages.get(api.ctx, caller, message_id)
    else:
        snapshot = await long_poll.until_changed(
            api.ctx, caller, message_id, wait, has.has if has else None, watch_hang_up(request)
        )
    if has is not None and has.has(snapshot.message.version):
        return Response(status_code=304, headers={"ETag": _etag(snapshot)})
    return message_response(api, snapshot, 200, {})


async def recover(api: Api, request: Request, caller: Caller) -> Response:
    """Watch expired work again, and give out what it left since."""
    message_id = request.path_params["message_id"]
    given = validated(RecoverIn, await read_optional_json(api, request))
    found = await recovering.recover(api.ctx, caller, message_id, _millionths(given.max_credits))
    works = [RecoveredWorkShape(work_id=work_id, state=state) for work_id, state in found.items()]
    return respond(RecoveryShape(id=message_id, work=works))


def message_response(api: Api, snapshot: Snapshot, status: int, more: dict[str, str]) -> Response:
    """A Message as an answer; ``more``: its headers besides the ETag."""
    more["ETag"] = _etag(snapshot)
    return respond(MessageShape.of(snapshot, api.ctx.links), status, more)


def _etag(snapshot: Snapshot) -> str:
    return f'"v{snapshot.message.version}"'


_ONE_OF = ("message", "files", "upload_ids")


def _refuse_by_name(body: dict[str, Any]) -> None:
    """Refusals with a code of their own come before ``invalid_request`` (design: Input)."""
    most = limits.MESSAGE_CHARACTERS_MAX
    message, uploads = body.get("message"), body.get("upload_ids")
    if isinstance(message, LongText):
        message = body["message"] = message.stripped(most)
        is_too_long = message is None
    else:
        is_too_long = isinstance(message, str) and len(message.strip()) > most
    if is_too_long:
        raise Refusal(
            ErrorCode.TOO_LONG, f"The message is over {most:,} characters; attach it as a file."
        )
    if isinstance(uploads, list):
        different = {u for u in uploads if isinstance(u, str)}
        if len(different) > limits.UPLOADS_PER_MESSAGE_MAX:
            most = limits.UPLOADS_PER_MESSAGE_MAX
            raise Refusal(ErrorCode.TOO_MANY, f"A message may have up to {most} uploads.")
    blank = message is None or (isinstance(message, str) and not message.strip())
    if blank and body.get("answer") is None and not body.get("files") and not uploads:
        wrong = [n for n in ("files", "upload_ids") if body.get(n) not in (None, [])]
        if not wrong:
            meant = misspelt.hint(body, _ONE_OF, MessageIn.model_fields)
            text = f"Give a message, files or upload_ids.{meant}"
            raise Refusal(ErrorCode.EMPTY_MESSAGE, text)


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
    files, taken = body.get("files"), {}
    for n, file in enumerate(files if isinstance(files, list) else ()):
        if isinstance(file, dict) and isinstance(file.get("base64"), LongText):
            taken[n] = file["base64"]
            file["base64"] = ""
    return taken


def _inline_files(shapes: list[InlineFileIn], contents: dict[int, LongText]) -> list[InlineFile]:
    files = [
        InlineFile(f.name, f.url, contents.get(n, f.base64), f.content_type)
        for n, f in enumerate(shapes)
    ]
    problems = list(without_contents(files))
    if problems:
        raise InvalidRequest(*problems)
    return files


def _new_message(request: Request, shape: MessageIn) -> NewMessage:
    if shape.answer is not None and shape.answer_to is None:
        raise InvalidRequest(Problem("answer_to", "is needed with an answer"))
    return NewMessage(
        text=(shape.message or "").strip(),
        conversation=shape.conversation or "",
        idempotency_key=_idempotency_key(request),
        metadata=shape.metadata,
        traceparent=tracing.valid(header(request, b"traceparent")),
        webhook_endpoint_id=shape.webhook_endpoint_id,
        upload_ids=tuple(dict.fromkeys(shape.upload_ids or [])),
        busy=WhenBusy(shape.busy or WhenBusy.WAIT),
        max_credits=_millionths(shape.max_credits),
        answer_to=shape.answer_to,
        answer=shape.answer,
        response_schema=shape.response_schema,
        wait_seconds=optional_int_param(request, SEND_WAIT),
    )


def _millionths(amount: float | None) -> int | None:
    return None if amount is None else to_millionths(amount)


def _idempotency_key(request: Request) -> str | None:
    given = headers(request, b"idempotency-key")
    if len(given) > 1:
        raise InvalidRequest(Problem("Idempotency-Key", "the header is given twice"))
    return idempotency.key_of(given[0] if given else None)


OPERATIONS = (
    Operation(
        id="createMessage",
        method="POST",
        path="/v1/messages",
        scope=Scope.SEND,
        summary="Send a message to the agent",
        description=(
            "Answers when the agent has, after about 30 seconds at the latest; with `wait=0` at"
            " once, to read the reply while it is written with streamMessage. `final` tells"
            " whether that was all: if not, the agent has started jobs, which continue. Follow them"
            " with getMessage, listMessageEvents or a webhook endpoint. No credits, too many"
            " running jobs, a failed job and a question are not errors: read `status` and `reason`."
            " With an `Idempotency-Key` the call can be sent again after any failure."
        ),
        handler=create,
        body=MessageIn,
        answer=MessageShape,
        successes=(
            Success(201, "A new message.", (ETAG,)),
            Success(200, "The message this call repeats, as it is by now.", (ETAG, REPLAYED)),
        ),
        errors=(
            ErrorCode.INVALID_REQUEST,
            ErrorCode.EMPTY_MESSAGE,
            ErrorCode.TOO_LONG,
            ErrorCode.TOO_MANY,
            ErrorCode.NOT_FOUND,
            ErrorCode.IDEMPOTENCY_CONFLICT,
            ErrorCode.UPLOAD_NOT_READY,
            ErrorCode.TOO_LARGE,
        ),
        queries=(SEND_WAIT,),
        headers=(IDEMPOTENCY_KEY, TRACEPARENT),
    ),
    Operation(
        id="getMessage",
        method="GET",
        path="/v1/messages/{message_id}",
        scope=Scope.READ,
        summary="Read a message, or wait for it to change",
        description=(
            "With `wait` the call is held until the status, the reply or the status of a job"
            " changes, or until the message is final; else it is answered unchanged when the time"
            " is over. Follow a message by calling this with `wait=45` until `final` is true."
        ),
        handler=get,
        answer=MessageShape,
        successes=(
            Success(200, "The message.", (ETAG,)),
            Success(304, "Nothing is newer than the given ETag.", (ETAG,), has_body=False),
        ),
        errors=(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND),
        queries=(WAIT,),
        headers=(IF_NONE_MATCH,),
    ),
    Operation(
        id="recoverMessage",
        method="POST",
        path="/v1/messages/{message_id}/recover",
        scope=Scope.SEND,
        summary="Watch a message's expired work again",
        description=(
            "Work that did not report back in time has expired for its message, but may"
            " continue. This call checks again and returns a result that came late. No work is"
            " started, and the message is not sent again. With `max_credits`, work that is parked"
            " because the message may use no more credits continues as far as they reach."
        ),
        handler=recover,
        body=RecoverIn,
        body_required=False,
        answer=RecoveryShape,
        errors=(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND, ErrorCode.TOO_LARGE),
    ),
)
