"""Uploads: large files on their way to the agent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from agentpost_client._async import io
from agentpost_client._async.calls import AsyncUploadCalls
from agentpost_client._async.transport import Post
from agentpost_client.addresses import is_http_url
from agentpost_client.attachments import (
    Outgoing,
    Progress,
    RemoteFile,
    Sendable,
    TemporaryCopy,
    Uploadable,
    check_upload,
    look_at,
    once_only,
)
from agentpost_client.errors import BadAnswer, FileRefused
from agentpost_client.form import FileForm
from agentpost_client.models import Upload
from agentpost_client.wire import Answer, failure


class AsyncUploads(AsyncUploadCalls):
    """Files sent ahead of the message they go with. `send` does all three steps."""

    async def send(self, file: Uploadable, on_progress: Progress | None = None) -> Upload:
        """Send a file of up to 500 MB ahead, in constant memory; name its id in ``upload_ids``.

        ``on_progress`` is called with the bytes done and all of them. Raises `FileRefused`, and
        `ApiError` such as ``executable_refused``.
        """
        async with open_files([file]) as (outgoing,):
            assert isinstance(outgoing, Outgoing)
            check_upload(outgoing)
            return await self.post(outgoing, on_progress)

    async def post(self, outgoing: Outgoing, on_progress: Progress | None = None) -> Upload:
        """Create, post, complete. Each may be sent again: a second create is a new upload and a
        second post replaces the first."""
        ticket = await self.create(outgoing.name, outgoing.size, outgoing.content_type)
        if not is_http_url(ticket.url):
            raise BadAnswer(f"The address to post {outgoing.name} to is not an http address.")
        post = Post(ticket.url, FileForm(ticket.fields, outgoing), on_progress)
        retries = self._transport.options.policy.retries
        outcome = await self._transport.attempt(post, retries)
        if not (isinstance(outcome, Answer) and outcome.is_success):
            raise failure(outcome, ticket.url)
        return await self.complete(ticket.upload_id)


@asynccontextmanager
async def open_files(files: Sequence[Sendable]) -> AsyncIterator[list[Outgoing | RemoteFile]]:
    """The files so that they can be read as often as needed; temporary ones go at the end.

    Raises `FileRefused`.
    """
    async with AsyncExitStack() as stack:
        if isinstance(files, str | bytes | os.PathLike):
            raise FileRefused(f"files takes a list: files=[{files!r}]")
        outgoing: list[Outgoing | RemoteFile] = []
        for file in files:
            if isinstance(file, RemoteFile):
                outgoing.append(file)
                continue
            once = once_only(file)
            if once is None:
                outgoing.append(await io.run(look_at, file))
                continue
            copy = await io.run(TemporaryCopy, once)
            stack.callback(copy.close)
            async for chunk in io.pieces(once):
                await io.run(copy.write, chunk)
            outgoing.append(await io.run(copy.outgoing))
        yield outgoing
