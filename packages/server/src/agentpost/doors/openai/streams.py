"""Calls that are held until a message has ended, and streams that show it meanwhile."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentpost.api.operation import Api, watch_hang_up
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.doors.openai import sending
from agentpost.doors.sending import hold
from agentpost.following.followers import Moment
from agentpost.http import event_stream
from agentpost.messages.new_messages import NewMessage
from agentpost.wakeups.base import Wait


class Frames(Protocol):
    """A stream of one of the APIs, as texts of server-sent events."""

    headers: dict[str, str]
    """Those of the response, besides the usual ones, once there was a moment."""

    def frames(self, moment: Moment) -> Iterator[str]:
        """What is new in a moment."""

    def last(self, moment: Moment) -> Iterator[str]:
        """The end of the stream, at the last moment that has no texts."""

    def refusal_frame(self, refusal: Refusal) -> str:
        """The end of a stream that may not go on."""


async def wait_for_end(api: Api, request: Request, caller: Caller, message_id: str) -> Moment:
    """The message once it is final or waits for credits, or when its call was held long enough."""
    hung_up = partial(watch_hang_up, request)
    async with aclosing(hold(api.ctx, caller, message_id, hung_up)) as moments:
        async for moment in moments:
            last = moment
    return last


async def send(
    api: Api, caller: Caller, drafts: Sequence[NewMessage], frames: Frames
) -> AsyncGenerator[str, None]:
    """Send a message, then all of its frames: it listens before there is anything to miss. What
    refuses the message is raised before the first frame."""
    message_id = new_id(ids.MESSAGE, api.ctx.clock.now())
    with api.ctx.wakeups.listen(message_id, texts=True) as wait:
        message = await sending.send(api, caller, drafts, message_id)
        place = wait if message.id == message_id else None
        async with aclosing(follow(api, caller, message.id, frames, place)) as events:
            async for event in events:
                yield event


async def follow(
    api: Api, caller: Caller, message_id: str, frames: Frames, place: Wait | None = None
) -> AsyncGenerator[str, None]:
    """The frames of a message until its end, or until it was held long enough."""
    source = hold(api.ctx, caller, message_id, texts=True, place=place)
    async with aclosing(source) as moments:
        async for moment in moments:
            for frame in frames.frames(moment):
                yield frame
            if not moment.texts:
                now = moment
                yield ": \n\n"
    for frame in frames.last(now):
        yield frame


async def response(frames: Frames, events: AsyncGenerator[str, None]) -> Response:
    """The response that sends the events. What is refused before the first of them is raised."""
    stream = _until_refused(frames, events, await anext(events))
    headers = {**event_stream.HEADERS, **frames.headers}
    return StreamingResponse(stream, headers=headers, media_type=event_stream.MEDIA_TYPE)


async def _until_refused(
    frames: Frames, events: AsyncGenerator[str, None], first: str
) -> AsyncIterator[str]:
    """The events; a refusal that comes in between, such as a key that ends, is the last of them."""
    async with aclosing(events):
        try:
            yield first
            async for event in events:
                yield event
        except Refusal as refusal:
            yield frames.refusal_frame(refusal)
