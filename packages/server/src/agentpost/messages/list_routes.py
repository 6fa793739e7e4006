"""Listing, cancelling and deleting messages (design: Additions)."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from msgspec import UNSET, Raw
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentpost.accounts.scope_rules import Scope
from agentpost.api.header_docs import ETAG
from agentpost.api.operation import Api, Command, Labels, Operation, Query, Success, Text, respond
from agentpost.api.query import (
    TIME,
    choice_param,
    id_param,
    int_param,
    labels_param,
    place_param,
    time_param,
)
from agentpost.caller import Caller
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode
from agentpost.messages import lists
from agentpost.messages.filter_rules import MessageFilter
from agentpost.messages.routes import message_response
from agentpost.messages.rules import MessageStatus
from agentpost.messages.shapes import (
    MessageDeletedShape,
    MessageItemShape,
    MessageListShape,
    MessageShape,
)

LIMIT = Query("limit", "How many to list.", 1, limits.MESSAGE_LIST_MAX, limits.MESSAGE_LIST_DEFAULT)
METADATA = Labels(
    "metadata",
    "Only messages with these labels, each `label=text`, as in `metadata=order=1042`. A label with"
    " a `=` in it is written `metadata[label]=text`, as any label may be.",
)
BEFORE = Text(
    "before", "Only messages older than the one with this `id`.", pattern=ids.pattern(ids.MESSAGE)
)

_LONG_BYTES = 16 * 1024
"""After an item that is longer, others have their turn on the event loop."""
_LONG_PAGE_BYTES = 256 * 1024
"""A page that is longer is sent in parts."""


@Operation(
    id="listMessages",
    route="GET /v1/messages",
    scope=Scope.READ,
    summary="List the messages of this key",
    answer=MessageListShape,
    queries=(LIMIT,),
    texts=(
        BEFORE,
        Text("status", "Only messages with this status.", tuple(MessageStatus)),
        Text("conversation", "Only messages of the conversation with this name."),
        Text("created_after", "Only messages accepted at this time or later.", format=TIME),
        Text("created_before", "Only messages accepted before this time.", format=TIME),
    ),
    labels=(METADATA,),
    command=Command(
        "messages list",
        ("id", "status", "sent=created_at", "conversation", "message"),
        extra=("conversation",),
        empty="no such message",
    ),
)
async def list_messages(api: Api, request: Request, caller: Caller) -> Response:
    """Newest first, each as a read of it and with the text that was sent. While `has_more`,
    continue with `before`: the last one's `id`. A page looks at up to 60,000 messages. When so many
    hold too few that fit, the page ends early, maybe without any, and has `next_before`: continue
    with that."""
    limit, before = int_param(request, LIMIT), await place_param(api, request, caller, BEFORE)
    page = await lists.list_page(api.ctx, caller, _filter(request), before=before, limit=limit)
    items: list[bytes] = []
    for snapshot in page.messages:
        items.append(MessageItemShape.from_snapshot(snapshot, api.ctx.links).json())
        if len(items[-1]) > _LONG_BYTES:
            await asyncio.sleep(0)  # a page of long texts has megabytes
    go_on = UNSET if page.go_on is None else page.go_on
    shape = MessageListShape(data=[], has_more=page.has_more, next_before=go_on)
    if sum(map(len, items)) > _LONG_PAGE_BYTES:
        return _in_parts(shape.json(), items)
    return respond(replace(shape, data=list(map(Raw, items))))


def _in_parts(page: bytes, items: Sequence[bytes]) -> Response:
    """A page as JSON, sent item by item, so that others have their turn on the event loop between.

    Args:
        page: the page without items.
        items: what belongs into its ``data``.
    """
    before, after = page.split(b"[]", 1)
    separators = (b"[", *(b"," for _ in items[1:]))
    parts = [before, *(mark + item for mark, item in zip(separators, items, strict=True))]
    parts.append(b"]" + after)

    async def stream() -> AsyncIterator[bytes]:
        for part in parts:
            yield part
            await asyncio.sleep(0)

    length = {"content-length": str(sum(map(len, parts)))}
    return StreamingResponse(stream(), headers=length, media_type="application/json")


@Operation(
    id="cancelMessage",
    route="POST /v1/messages/{message_id}/cancel",
    scope=Scope.SEND,
    summary="Stop everything that still runs for a message",
    answer=MessageShape,
    successes=(Success(200, "The message as it is then.", (ETAG,)),),
    command=Command("messages cancel"),
    is_repeatable=True,
)
async def cancel(api: Api, _: Request, caller: Caller, message_id: str) -> Response:
    """The agent's turn ends, and so does every job of the message that runs or waits, with the
    files it has made so far; also a job that the message only joined. The message is final then. A
    message for which nothing runs stays as it is."""
    snapshot = await lists.cancel(api.ctx, caller, message_id)
    return message_response(api, snapshot, 200, {})


@Operation(
    id="deleteMessage",
    route="DELETE /v1/messages/{message_id}",
    scope=Scope.ADMIN,
    action="messages delete",
    summary="Delete a final message",
    answer=MessageDeletedShape,
    errors=(ErrorCode.NOT_FINAL,),
    command=Command("messages delete"),
)
async def delete(api: Api, _: Request, caller: Caller, message_id: str) -> Response:
    """It cannot be undone. The message, its log, its events and what came with it are deleted, as
    at the end of its retention; works and their files stay. It answers 404 from then on."""
    await lists.delete(api.ctx, caller, message_id)
    return respond(MessageDeletedShape(id=message_id))


def _filter(request: Request) -> MessageFilter:
    status = choice_param(request, "status", MessageStatus)
    return MessageFilter(
        status=MessageStatus(status) if status else None,
        conversation=id_param(request, "conversation"),
        metadata=labels_param(request, METADATA),
        created_after=time_param(request, "created_after"),
        created_before=time_param(request, "created_before"),
    )


OPERATIONS = (list_messages, cancel, delete)
