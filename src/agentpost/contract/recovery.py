"""The result of recovering a message, work by work (spec: Recovery)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from agentpost.contract.shape import Shape
from agentpost.domain.recovery import RecoveryState


class RecoveredWorkShape(Shape):
    """A work of the message."""

    work_id: str
    state: Annotated[
        RecoveryState,
        Meta(
            description=(
                "recovering: watched again from now on; watching: was still watched; exhausted:"
                " cannot be watched again; settled: ended, nothing to wait for."
            )
        ),
    ]


class RecoveryShape(Shape):
    """The answer to a recover call."""

    object: Literal["recovery"] = "recovery"
    id: Annotated[str, Meta(description="The message's id.")]
    work: list[RecoveredWorkShape]
