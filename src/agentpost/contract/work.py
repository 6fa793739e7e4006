"""Works and the account (spec: Work, Account)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from agentpost.contract.message import FileShape


class WorkShape(BaseModel):
    """A work with one page of its text and its newest files."""

    object: Literal["work"]
    work_id: str
    title: str
    status: Literal["running", "idle"]
    text: str = Field(description="Latest result, paged by 20,000 characters.")
    next_from_char: int | None
    link: str
    files: list[FileShape] = Field(description="The newest, up to 8.")


class WorkItemShape(BaseModel):
    """A line of the work list."""

    object: Literal["work"]
    work_id: str
    title: str
    preview: str
    link: str
    status: Literal["running", "idle"]
    updated_at: str = Field(description="When its latest result came, else when it was opened.")


class WorkListShape(BaseModel):
    """Works, newest first."""

    object: Literal["list"]
    data: list[WorkItemShape]


class WorkDeletedShape(BaseModel):
    """A deleted work."""

    object: Literal["work"]
    work_id: str
    deleted: Literal[True]
