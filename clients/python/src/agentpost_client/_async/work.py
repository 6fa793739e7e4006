"""Work: where jobs run and leave their files."""

from __future__ import annotations

from agentpost_client._async.calls import AsyncWorkCalls
from agentpost_client.limits import WORK_LIST_DEFAULT
from agentpost_client.models import Work, WorkItem, WorkList
from agentpost_client.operations import operation
from agentpost_client.requests import call


class AsyncWorks(AsyncWorkCalls):
    """The account's works."""

    async def __call__(self, work_id: str, from_char: int = 0) -> Work:
        """The same as `get`."""
        return await self.get(work_id, from_char)

    @operation("getWork")
    async def get(self, work_id: str, from_char: int = 0) -> Work:
        """A work, with one page of its latest result text."""
        request = call("GET", "work", work_id, query={"from_char": from_char or None})
        return await self._transport.ask(request, Work)

    async def text(self, work_id: str) -> str:
        """All pages of a work's latest result text."""
        page = await self.get(work_id)
        parts = [page.text]
        while page.next_from_char is not None:
            page = await self.get(work_id, page.next_from_char)
            parts.append(page.text)
        return "".join(parts)

    @operation("listWork")
    async def list(
        self, limit: int = WORK_LIST_DEFAULT, *, before: str | None = None
    ) -> tuple[WorkItem, ...]:
        """The account's newest works, 1 to 50; with ``before``, a ``work_id``, older ones."""
        query = {"limit": limit, "before": before}
        return (await self._transport.ask(call("GET", "work", query=query), WorkList)).data
