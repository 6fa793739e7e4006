"""Live parts of pages: an event stream that sends the part again when it has changed.

A stream waits for hints at its account, as a held read waits for hints at its message; without one
it asks the database nothing, unless its page looks by itself. Each fragment has a tag made of its
content, which is also the event's id: a browser that comes back says which it has
(``Last-Event-ID``), and gets the fragment only if it is another one by now, from whichever server.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentpost.context import AppContext
from agentpost.domain.errors import Overloaded
from agentpost.domain.times import SECOND
from agentpost.http import event_stream
from agentpost.sessions import actions as sessions
from agentpost.web.page import Viewer
from agentpost.web.rendering import LIVE

PER_ACCOUNT_MAX: Final = 30
"""Open streams of an account in one process."""
_KEEP_ALIVE_SECONDS: Final = 20.0
"""How often a stream without news says that it lives, and looks whether its session does."""
_PAUSE_SECONDS: Final = 0.3
"""Between two looks at the least: what changes faster is shown together."""
_PAUSE_PER_SECOND: Final = 20.0
"""And this much for each second that a look took: an open page takes a twentieth of a processor at
the most, however busy its account is."""
_PAUSE_SECONDS_MAX: Final = 2.0  # the server may be stopping
_RETRY_SECONDS: Final = 5
_RECONNECT_MS: Final = 500
_LINE_END: Final = re.compile(r"\r\n|\r|\n")

Render = Callable[[], Awaitable[tuple[str, str]]]
"""Makes the live part and its tag, see `Renderer.fragment`."""


class Streams:
    """The open streams of this process."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._open: Counter[str] = Counter()

    def respond(
        self, request: Request, viewer: Viewer, render: Render, every: float | None = None
    ) -> Response:
        """Open one; raises `Overloaded` for an account that has its most. ``every``: looks again
        after so many seconds without a hint; None: only with one."""
        if self._open[viewer.account_id] >= PER_ACCOUNT_MAX:
            raise Overloaded("This account has too many open pages.", _RETRY_SECONDS)
        last_tag = request.headers.get("last-event-id") or request.query_params.get(LIVE, "")
        events = self._events(viewer, last_tag, render, every)
        return StreamingResponse(
            events, headers=event_stream.HEADERS, media_type=event_stream.MEDIA_TYPE
        )

    async def _events(
        self, viewer: Viewer, last_tag: str, render: Render, every: float | None
    ) -> AsyncIterator[str]:
        """What is sent, until the session or the server ends; the client may go at any moment."""
        ctx, account_id = self._ctx, viewer.account_id
        self._open[account_id] += 1
        try:
            with ctx.wakeups.listen(account_id) as wait:  # before the first look
                yield f"retry: {_RECONNECT_MS}\n\n"
                look = True
                while not wait.over and await sessions.signed_in(ctx, viewer.session):
                    if look:
                        began = ctx.clock.passed()
                        fragment, tag = await render()
                        took = (ctx.clock.passed() - began) / SECOND
                        if tag != last_tag:
                            last_tag = tag
                            yield _event(tag, fragment)
                        pause = max(_PAUSE_SECONDS, took * _PAUSE_PER_SECOND)
                        await asyncio.sleep(min(pause, _PAUSE_SECONDS_MAX))
                    look = await wait.wait(every or _KEEP_ALIVE_SECONDS)
                    if not look and not wait.over:
                        look = every is not None
                        yield ": \n\n"
        finally:
            self._open[account_id] -= 1
            if not self._open[account_id]:
                del self._open[account_id]


def _event(tag: str, fragment: str) -> str:
    lines = "".join(f"data: {line}\n" for line in _LINE_END.split(fragment))
    return f"id: {tag}\n{lines}\n"
