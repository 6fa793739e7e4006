"""What a message that could not be taken in leaves behind (spec: createMessage)."""

import base64
from collections.abc import Callable
from typing import TypeVar

import pytest

from agentpost.blobs import actions as blobs
from agentpost.clock import new_id
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.uploads.attachments import InlineFile
from tests.harness.context import Harness

T = TypeVar("T")
DAY = 86_400


async def test_files_stay_when_the_answer_of_the_commit_is_lost(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = harness.ctx.db.write

    async def lose_answer(fn: Callable[[Tx], T]) -> T:
        monkeypatch.undo()
        await write(fn)
        raise ConnectionError("the server went away")

    file = InlineFile("a.txt", None, base64.b64encode(b"kept").decode(), None)
    new = await sending.admit(harness.ctx, harness.caller, NewMessage("hi", files=(file,)))
    assert isinstance(new, NewMessage)
    monkeypatch.setattr(harness.ctx.db, "write", lose_answer)
    with pytest.raises(ConnectionError):
        await sending.accept(harness.ctx, harness.caller, new, new_id(ids.MESSAGE, harness.tick()))
    [(blob,)] = harness.all("SELECT blob FROM attachments")
    harness.tick(2 * DAY)
    await blobs.sweep(harness.ctx)
    assert await harness.ctx.storage.size(blob) == len(b"kept")
