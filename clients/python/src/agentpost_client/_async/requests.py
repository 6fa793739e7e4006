"""The request log: what was asked of the API and what it answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime

from agentpost_client._async.calls import AsyncRequestCalls
from agentpost_client._async.following import EMPTY_POLL_SECONDS
from agentpost_client.limits import WAIT_SECONDS_MAX
from agentpost_client.models import LoggedRequest, LoggedRequestList
from agentpost_client.operations import operation
from agentpost_client.requests import call, moment


class AsyncRequests(AsyncRequestCalls):
    """The requests of the key; with the scope ``read_all`` those of all keys of the account."""

    @operation("listRequests")
    async def list(
        self,
        cursor: str | None = None,
        *,
        key: str | None = None,
        method: str | None = None,
        status: str | int | None = None,
        path: str | None = None,
        error: str | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        before: str | None = None,
        limit: int | None = None,
        wait: int = 0,
        patient: bool = False,
    ) -> LoggedRequestList:
        """One page: without a ``cursor`` newest first, with it what ended since, oldest first,
        waiting up to ``wait`` seconds (0 to 45, at least 1) for it.

        ``key`` is the id of one, ``status`` such as ``404``, ``4xx`` or ``failed``; ``path`` and
        ``error`` filter as well. Continue with ``before``, the last one's id, while ``has_more``.
        A ``patient`` call is tried again for longer. `follow` reads what comes.
        """
        query = {
            "limit": limit,
            "wait": wait or None,
            "before": before,
            "cursor": cursor,
            "key": key,
            "method": method,
            "status": status,
            "path": path,
            "error": error,
            "created_after": moment(created_after),
            "created_before": moment(created_before),
        }
        request = call("GET", "requests", query=query, hold=wait)
        return await self._transport.ask(request, LoggedRequestList, patient=patient)

    async def follow(
        self,
        cursor: str | None = None,
        *,
        key: str | None = None,
        method: str | None = None,
        status: str | int | None = None,
        path: str | None = None,
        error: str | None = None,
    ) -> AsyncGenerator[LoggedRequest, None]:
        """The requests as they end, without an end; the filters are those of `list`.

        Without a ``cursor`` of a page they begin with this call. Reads of the log are left out.
        """
        clock, has_answer = self._transport.options.clock, cursor is not None
        if cursor is None:
            cursor = (await self.list(limit=1)).cursor
        while True:
            start = clock()
            page = await self.list(
                cursor,
                key=key,
                method=method,
                status=status,
                path=path,
                error=error,
                wait=WAIT_SECONDS_MAX,
                patient=has_answer,
            )
            for each in page.data:
                yield each
            cursor, has_answer = page.cursor, True
            if not page.data and clock() - start < EMPTY_POLL_SECONDS:
                await self._transport.pause(EMPTY_POLL_SECONDS)
