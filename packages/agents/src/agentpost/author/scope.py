"""Tell calls of a run's own function from calls of a step's body.

The calls of a run are numbered, so that a re-run finds their answers. The body of a step may run
twice, or not at all when the journal has its value, so its calls must not be numbered. A context
variable tells the two apart; tasks and `asyncio.to_thread` inherit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from agentpost.agents import NotAllowedInStep
from agentpost.agents.base import current_step_key
from agentpost.domain.credits import Charge

_INSTEAD: Final = {
    "step": "call the function itself: it belongs to the step that runs",
    "write": "return the contents from the step and write them afterwards",
    "reply": "return the text from the step and reply afterwards",
    "ask": "return the question from the step and ask afterwards",
    "output": "return the value from the step and give it as the output afterwards",
}
_ELSEWHERE: Final = "make the call before the step, or after it, and hand over what it returns"


@dataclass(slots=True, eq=False)
class StepBody:
    """The body of one call while it runs, with all of its tries, and what it charges."""

    run: Scope
    charges: list[Charge] = field(default_factory=list)
    over: bool = False

    async def charge(self, amount: int, note: str) -> None:
        """To be charged together with the step's record, unless it is 0; raises `NotAllowedInStep`
        when that is too late."""
        if amount and self.over:
            raise NotAllowedInStep("charge was called by a step that has ended; await it in there")
        if amount:
            self.charges.append(Charge(amount, note))


_current: ContextVar[Scope | StepBody | None] = ContextVar("agentpost_place", default=None)
"""The run whose own function calls, or the body."""


class Scope:
    """Where the calls of one run come from. ``open``: how many bodies run in this process."""

    open = 0

    def enter(self) -> None:
        """The current task runs the run's own function from here on."""
        _current.set(self)
        current_step_key.set(None)

    @contextmanager
    def body(self, key: str | None, *, here: bool) -> Iterator[StepBody]:
        """The current task runs a call's body inside. ``key``: what `step_key` says in it;
        ``here``: it is the author's code, and not in a process of its own."""
        body = StepBody(self)
        token, key_token = _current.set(body), current_step_key.set(key)
        self.open += here
        try:
            yield body
        finally:
            self.open -= here
            body.over = True
            current_step_key.reset(key_token)
            _current.reset(token)

    def calling(self, name: str) -> StepBody | None:
        """The body that makes this call, None for the run's own function.

        Raises `NotAllowedInStep` when nobody can say, or when it is a step of another run.
        """
        place = _current.get()
        if place is self:
            return None
        if isinstance(place, StepBody):
            if place.run is self:
                return place
            raise NotAllowedInStep(f"{name} was called by a step of another job or turn")
        if self.open:
            raise NotAllowedInStep(
                f"{name} was called from a thread or callback while a step runs, and it cannot be "
                "told whether it belongs to the step: start threads with asyncio.to_thread, or run "
                "the callback in contextvars.copy_context()"
            )
        return None

    def refuse_in_body(self, name: str) -> None:
        """Raises `NotAllowedInStep` unless the run's own function makes this call."""
        if self.calling(name) is not None:
            instead = _INSTEAD.get(name, _ELSEWHERE)
            raise NotAllowedInStep(
                f"{name} cannot be called inside a step, since a step may run twice; {instead}"
            )
