"""Schedules: messages that are sent at given times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agentpost_client._async.calls import AsyncScheduleCalls
from agentpost_client._async.pages import AsyncPages
from agentpost_client.attachments import RemoteFile, remote
from agentpost_client.models import Schedule, ScheduleList
from agentpost_client.operations import operation
from agentpost_client.requests import call, moment, without_nones


class AsyncSchedules(AsyncScheduleCalls):
    """The key's schedules."""

    @operation("createSchedule")
    async def create(
        self,
        message: str,
        files: Sequence[RemoteFile] = (),
        *,
        cron: str | None = None,
        at: datetime | str | None = None,
        timezone: str | None = None,
        missed: str | None = None,
        conversation: str | None = None,
        metadata: Mapping[str, str] | None = None,
        webhook_endpoint_id: str | None = None,
        busy: str | None = None,
        max_credits: float | None = None,
        response_schema: Mapping[str, Any] | None = None,
    ) -> Schedule:
        """Send a message with each run: by ``cron`` in a ``timezone``, or once ``at`` a time.

        ``cron`` has five fields: minute, hour, day of month, month, day of week. ``missed`` says
        what becomes of runs that no server was there for: ``skip`` (default) or ``run_once``.
        """
        message_fields = without_nones(
            {
                "message": message,
                "files": [remote(file) for file in files] or None,
                "conversation": conversation,
                "metadata": dict(metadata) if metadata else None,
                "webhook_endpoint_id": webhook_endpoint_id,
                "busy": busy,
                "max_credits": max_credits,
                "response_schema": response_schema,
            }
        )
        body = {
            "cron": cron,
            "at": moment(at),
            "timezone": timezone,
            "missed": missed,
            "message": message_fields,
        }
        request = call("POST", "schedules", body=body, repeatable=False)
        return await self._transport.ask(request, Schedule)

    @operation("listSchedules")
    def list(self, *, limit: int | None = None, before: str | None = None) -> AsyncPages[Schedule]:
        """The key's schedules with their next and last run, newest first, over all pages."""

        async def read(cursor: str | None) -> tuple[tuple[Schedule, ...], str | None]:
            query = {"limit": limit, "before": cursor or before}
            page = await self._transport.ask(call("GET", "schedules", query=query), ScheduleList)
            return page.data, page.data[-1].id if page.has_more and page.data else None

        return AsyncPages(read)
