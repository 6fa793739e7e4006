"""Where turns, jobs and their calls stand in the trace of their message."""

from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeVar

from agentpost.clock import SystemClock
from agentpost.observability import traces

T = TypeVar("T")
_NAMED: Final = ("step", "start")
"""Calls whose first argument is the name of a function."""


def run(
    kind: str, owner: str, message_id: str, traceparent: str | None
) -> AbstractContextManager[None]:
    """A turn or job runs inside; ``traceparent``: that of its message."""
    trace = traces.sampled(message_id, traceparent)
    if trace is None:
        return nullcontext()
    return traces.span_context(trace, traces.span_id(kind, owner))


async def call(owner: str, number: int, call_parts: Sequence[object], effect: Awaitable[T]) -> T:
    """Await the effect of a call that is not recorded yet, and make its span. ``call_parts``: the
    name of the call and its arguments, of which no values are shown."""
    place = traces.place.get()
    if place is None:
        return await effect
    clock = SystemClock()
    began, problem = clock.now(), None
    try:
        with traces.span_context(place.trace, traces.span_id(traces.CALL, owner, number)):
            return await effect
    except BaseException as error:
        problem = type(error).__name__
        raise
    finally:
        traces.record(
            place.trace,
            traces.CALL,
            (owner, number),
            place.span,
            " ".join(map(str, call_parts[: 2 if call_parts[0] in _NAMED else 1])),
            (began, clock.now()),
            {"owner": owner, "call": number},
            problem,
        )
