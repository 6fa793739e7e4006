"""The backend of a caller at this server: the operations of the API, without a request for each."""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request

from agentpost.accounts import admission, list_places
from agentpost.accounts.scope_rules import Scope
from agentpost.api.long_texts import LongText
from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.contract.errors import in_words
from agentpost.contract.shape import Shape, loads
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.limits import RPC_PAGE_BYTES_MAX
from agentpost.doors import sending
from agentpost.doors.mcp.backend import ROUTES, BackendError, Change, Json
from agentpost.doors.rpc import refusals_as
from agentpost.doors.writing import read
from agentpost.files import routes as file_routes
from agentpost.following import followers
from agentpost.following.shapes import EntryShape
from agentpost.http.request_state import state_of
from agentpost.jobs import routes as job_routes, works
from agentpost.messages import (
    idempotency_rules,
    list_routes,
    lists,
    routes as message_routes,
)
from agentpost.messages.filter_rules import MessageFilter
from agentpost.messages.new_messages import from_fields
from agentpost.messages.shapes import MessageItemShape, MessageListShape, MessageShape
from agentpost.storage.base import BlobMissing
from agentpost.uploads.attachments import InlineFile

_OPERATIONS: Final = {
    each.id: each
    for room in (message_routes, list_routes, job_routes, file_routes)
    for each in room.OPERATIONS
    if each.id in ROUTES
}


class LocalBackend:
    """See `Backend`. What belongs to others is not found, as everywhere."""

    def __init__(
        self, api: Api, request: Request, caller: Caller, contents: Mapping[str, LongText]
    ) -> None:
        """``request``: the one that is answered; ``contents``: see `doors.rpc.Call`."""
        self._api = api
        self._ctx = api.ctx
        self._scope = request.scope
        self._caller = caller
        self._contents = contents

    async def ask(self, operation: str, *path: str, **query: str | int | None) -> Json:
        asked = _OPERATIONS[operation]
        names = re.findall(r"{(\w+)", asked.path)
        text = urlencode({name: value for name, value in query.items() if value is not None})
        own = {"path_params": dict(zip(names, path, strict=True)), "query_string": text.encode()}
        request = Request({**self._scope, **own, "headers": []})
        assert asked.scope is not None, "each of them needs one"
        with self._refusals_translated(asked.scope):
            answer = await asked.handler(self._api, request, self._caller)
        values: Json = loads(bytes(answer.body))
        return values

    async def send(self, fields: Json, idempotency_key: str | None) -> Json:
        with self._refusals_translated(Scope.SEND):
            key = idempotency_rules.key_of(idempotency_key)
            new = from_fields(fields, self._files(fields), idempotency_key=key, held=False)
            record = await sending.send(self._ctx, self._caller, new)
            moment = await followers.look(self._ctx, self._caller, record.id)
            return _json(MessageShape.of(moment.snapshot, self._ctx.links))

    def _files(self, fields: Json) -> list[InlineFile]:
        files = [InlineFile.of(each) for each in fields.get("files") or ()]
        return [
            replace(file, base64=self._contents.get(str(file.base64), file.base64))
            for file in files
        ]

    async def changes(self, message_id: str) -> AsyncGenerator[Change, None]:
        with self._refusals_translated(Scope.READ):
            await admission.held_call(self._ctx, self._caller)
            source = sending.hold(self._ctx, self._caller, message_id, texts=True)
            async with aclosing(source) as moments:
                async for moment in moments:
                    entries = [_json(EntryShape.of(e, self._ctx.links)) for e in moment.entries]
                    yield Change(entries, [read(piece) for piece in moment.texts])

    async def messages(self, conversation: str | None, before: str | None, limit: int) -> Json:
        list_filter = MessageFilter(conversation=conversation)
        with self._refusals_translated(Scope.READ):
            await list_places.check(self._ctx, self._caller, "before", before or "")
            page = await lists.list_page(
                self._ctx, self._caller, list_filter, before=before, limit=limit
            )
        data: list[MessageItemShape] = []
        page_bytes = 0
        for snapshot in page.messages:
            item = MessageItemShape.from_snapshot(snapshot, self._ctx.links)
            page_bytes += len(item.json())
            if data and page_bytes > RPC_PAGE_BYTES_MAX:
                return _json(MessageListShape(data=data, has_more=True, next_before=data[-1].id))
            data.append(item)
        go_on = msgspec.UNSET if page.go_on is None else page.go_on
        return _json(MessageListShape(data=data, has_more=page.has_more, next_before=go_on))

    async def content(self, file_id: str) -> bytes:
        with self._refusals_translated(Scope.READ):
            record = await works.get_file(self._ctx, self._caller.account_id, file_id)
            try:
                chunks = self._ctx.storage.open(record.blob, 0, record.size)
                return b"".join([chunk async for chunk in chunks])
            except BlobMissing:
                raise not_found("file") from None

    @contextmanager
    def _refusals_translated(self, scope: Scope) -> Iterator[None]:
        """`refusals_as` for a call that needs the scope; one that needs `Scope.SEND` has changed
        something."""
        state = state_of(self._scope)
        with refusals_as(_error_of, BackendError, state, self._caller, scope):
            yield
        if scope is Scope.SEND:
            state.reads = False


def _json(shape: Shape) -> Json:
    value: dict[str, Any] = msgspec.to_builtins(shape)
    return value


def _error_of(refusal: Refusal) -> BackendError:
    return BackendError(refusal.code.value, *in_words(refusal))
