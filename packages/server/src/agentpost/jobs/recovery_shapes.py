"""The result of recovering a message, work by work (spec: Recovery)."""

from typing import Annotated, Literal

from agentpost.contract.shape import Shape, about
from agentpost.jobs.recovery_rules import RecoveryState


class RecoveredWorkShape(Shape):
    """A work of the message."""

    work_id: str
    state: Annotated[
        RecoveryState,
        about(
            "recovering: watched again from now on; watching: was still watched; exhausted:"
            " cannot be watched again; settled: ended, nothing to wait for."
        ),
    ]


class RecoveryShape(Shape):
    """The answer to a recover call."""

    object: Literal["recovery"] = "recovery"
    id: Annotated[str, about("The message's id.")]
    work: list[RecoveredWorkShape]
