"""The backend of a caller at this server: the use cases themselves."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

import msgspec

from agentpost.accounts import admission, list_places
from agentpost.accounts.scope_rules import Scope
from agentpost.api.long_texts import LongText
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.contract.errors import in_words
from agentpost.contract.shape import Shape
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.limits import RPC_PAGE_BYTES_MAX
from agentpost.doors import sending
from agentpost.doors.mcp.backend import BackendError, Change, Json
from agentpost.doors.rpc import refusals_as
from agentpost.doors.writing import read
from agentpost.following import followers
from agentpost.following.followers import Moment
from agentpost.following.shapes import EntryShape
from agentpost.http.request_state import RequestState
from agentpost.jobs import recovery, works
from agentpost.messages import idempotency_rules, lists
from agentpost.messages.filter_rules import MessageFilter
from agentpost.messages.new_messages import from_fields
from agentpost.messages.shapes import FileObject, MessageItemShape, MessageListShape, MessageShape
from agentpost.storage.base import BlobMissing
from agentpost.uploads.attachments import InlineFile


class LocalBackend:
    """See `Backend`. What belongs to others is not found, as everywhere."""

    def __init__(
        self, ctx: AppContext, caller: Caller, state: RequestState, contents: Mapping[str, LongText]
    ) -> None:
        """``state``: that of the request; ``contents``: see `doors.rpc.Call`."""
        self._ctx = ctx
        self._caller = caller
        self._state = state
        self._contents = contents

    async def send(self, fields: Json, idempotency_key: str | None) -> Json:
        with self._refusals_translated(Scope.SEND):
            key = idempotency_rules.key_of(idempotency_key)
            new = from_fields(fields, self._files(fields), idempotency_key=key, held=False)
            record = await sending.send(self._ctx, self._caller, new)
            return self._message(await followers.look(self._ctx, self._caller, record.id))

    def _files(self, fields: Json) -> list[InlineFile]:
        files = [InlineFile.of(each) for each in fields.get("files") or ()]
        return [
            replace(file, base64=self._contents.get(str(file.base64), file.base64))
            for file in files
        ]

    async def message(self, message_id: str) -> Json:
        with self._refusals_translated(Scope.READ):
            return self._message(await followers.look(self._ctx, self._caller, message_id))

    async def changes(self, message_id: str) -> AsyncGenerator[Change, None]:
        with self._refusals_translated(Scope.READ):
            await admission.held_call(self._ctx, self._caller)
            source = sending.hold(self._ctx, self._caller, message_id, texts=True)
            async with aclosing(source) as moments:
                async for moment in moments:
                    entries = [_json(EntryShape.of(e, self._ctx.links)) for e in moment.entries]
                    yield Change(entries, [read(piece) for piece in moment.texts])

    async def stop(self, message_id: str) -> None:
        with self._refusals_translated(Scope.SEND):
            await lists.cancel(self._ctx, self._caller, message_id)

    async def recover(self, message_id: str) -> Json:
        with self._refusals_translated(Scope.SEND):
            recovery_shape = await recovery.recover(self._ctx, self._caller, message_id)
        return _json(recovery_shape)

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

    async def works(self, before: str | None, limit: int) -> Json:
        with self._refusals_translated(Scope.READ):
            await list_places.check(self._ctx, self._caller, "before", before or "")
            page = await works.list_works(self._ctx, self._caller.account_id, limit, before)
        return _json(page)

    async def work(self, work_id: str, from_char: int) -> Json:
        with self._refusals_translated(Scope.READ):
            await admission.work_read(self._ctx, self._caller)
            work = await works.get(self._ctx, self._caller.account_id, work_id, from_char)
        return _json(work)

    async def stop_work(self, work_id: str) -> Json:
        with self._refusals_translated(Scope.SEND):
            work = await works.stop(self._ctx, self._caller.account_id, work_id)
        return _json(work.shown_to(self._caller.scopes))

    async def file(self, file_id: str) -> Json:
        with self._refusals_translated(Scope.READ):
            record = await works.get_file(self._ctx, self._caller.account_id, file_id)
        return _json(FileObject.from_record(record, self._ctx.links))

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
        with refusals_as(_error_of, BackendError, self._state, self._caller, scope):
            yield
        if scope is Scope.SEND:
            self._state.reads = False

    def _message(self, moment: Moment) -> Json:
        return _json(MessageShape.of(moment.snapshot, self._ctx.links))


def _json(shape: Shape) -> Json:
    value: dict[str, Any] = msgspec.to_builtins(shape)
    return value


def _error_of(refusal: Refusal) -> BackendError:
    return BackendError(refusal.code.value, *in_words(refusal))
