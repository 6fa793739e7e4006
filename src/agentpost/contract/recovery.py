"""The result of recovering a message, work by work (spec: Recovery)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class RecoveredWorkShape(BaseModel):
    """A work of the message."""

    work_id: str
    state: Literal["settled", "watching", "recovering", "exhausted"] = Field(
        description=(
            "recovering: watched again from now on; watching: was still watched; exhausted: cannot"
            " be watched again; settled: ended, nothing to wait for."
        )
    )


class RecoveryShape(BaseModel):
    """The answer to a recover call."""

    object: Literal["recovery"]
    id: str = Field(description="The message's id.")
    work: list[RecoveredWorkShape]
