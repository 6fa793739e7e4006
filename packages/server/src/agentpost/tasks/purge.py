"""The purge: go through all expired rows in rounds, a bounded piece with every sweep.

A round continues where the previous one ended. From time to time a round starts from the beginning,
to delete rows that could not be deleted before.
"""

from __future__ import annotations

from agentpost.context import AppContext
from agentpost.domain.times import SECOND
from agentpost.retention import actions as retention
from agentpost.retention.actions import DueCursor, LogCursor

REST_SECONDS = 60
"""Between two rounds: what is due is unseen already, so its rows may wait."""
ANEW_SECONDS = 3_600
"""Between two rounds that begin anew."""


class Purge:
    """Where the rounds stand. A place is None when its part of the round is done."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._message: str | None = ""
        self._with_jobs: DueCursor | None = (0, "")
        self._key: str | None = ""
        self._entry: LogCursor | None = ("", 0)
        self._next = ("", "", ("", 0))
        self._rest_until = ctx.clock.passed()
        self._anew_at = ctx.clock.passed() + ANEW_SECONDS * SECOND

    async def run(self) -> None:
        """The next piece; nothing while it rests."""
        ctx = self._ctx
        if ctx.clock.passed() < self._rest_until:
            return
        message, key, entry = self._next
        if self._message is not None:
            message = retention.old_messages(ctx)
            self._message = await retention.messages(ctx, self._message)
        if self._with_jobs is not None:
            self._with_jobs = await retention.messages_with_jobs(ctx, self._with_jobs)
        if self._key is not None:
            key = retention.keyed_messages(ctx)
            self._key = await retention.keys(ctx, self._key)
        if self._entry is not None:
            entry = (retention.old_entries(ctx), 0)
            self._entry = await retention.entries(ctx, self._entry)
        self._next = (message, key, entry)
        await retention.deleted_works(ctx)
        await retention.rest(ctx)
        cursors = (self._message, self._with_jobs, self._key, self._entry)
        if all(cursor is None for cursor in cursors):
            now = self._ctx.clock.passed()
            self._with_jobs, self._rest_until = (0, ""), now + REST_SECONDS * SECOND
            self._message, self._key, self._entry = self._next
            if now >= self._anew_at:
                self._message, self._entry = "", ("", 0)
                self._anew_at = now + ANEW_SECONDS * SECOND
