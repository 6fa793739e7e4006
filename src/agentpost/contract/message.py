"""The Message, Job and File shapes, and the body that sends a message (spec: Message; Job; File).

Requests are validated with these; answers are built by `contract.render` and described by these
(a test holds the two together).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentpost.domain import limits

Text = Annotated[str, Field(strict=True)]


class Request(BaseModel):
    """Bodies are strict about types; unknown fields are ignored; null counts as absent."""

    model_config = ConfigDict(strict=True, extra="ignore")


class InlineFileIn(Request):
    """A file in the body of a message: by `url` or by `base64`."""

    name: str | None = Field(default=None, description="File name for the agent.")
    url: str | None = Field(default=None, description="Public https URL; the service fetches it.")
    base64: str | None = Field(default=None, description="The bytes, in standard base64.")
    content_type: str | None = Field(default=None, description="MIME type.")


MetadataValue = Annotated[str, Field(max_length=limits.METADATA_VALUE_CHARACTERS_MAX)]
MetadataKey = Annotated[str, Field(max_length=limits.METADATA_KEY_CHARACTERS_MAX)]


class MessageIn(Request):
    """At least one of `message`, `files` and `upload_ids` is needed."""

    message: str | None = Field(
        default=None,
        description="What to do, in plain language; up to 20,000 characters, trimmed.",
        examples=["Chart revenue by month from the attached CSV"],
    )
    files: list[InlineFileIn] | None = Field(
        default=None,
        description="Up to 5 are taken, 10 MB each, 25 MB together; the rest become notes.",
    )
    upload_ids: list[str] | None = Field(
        default=None, description="Finished uploads; up to 10, 1 GB together."
    )
    webhook_endpoint_id: str | None = Field(
        default=None, description="The endpoint that alone receives this message's events."
    )
    conversation: Annotated[str, Field(max_length=limits.CONVERSATION_CHARACTERS_MAX)] | None = (
        Field(
            default=None,
            description="Names the conversation, e.g. your customer's id; each has its own past.",
        )
    )
    metadata: (
        Annotated[dict[MetadataKey, MetadataValue], Field(max_length=limits.METADATA_ENTRIES_MAX)]
        | None
    ) = Field(default=None, description="Up to 16 labels of your own, given back unchanged.")


class FileShape(BaseModel):
    """A file the agent made."""

    file_id: str = Field(description="`<work_id>/<path>`; contains slashes.")
    name: str
    content_type: str
    kind: Literal[
        "image",
        "video",
        "audio",
        "document",
        "deck",
        "site",
        "data",
        "archive",
        "text",
        "other",
    ]
    size: int = Field(description="Bytes.")
    revision: str = Field(description="Quoted entity tag.")
    work_id: str
    label: str | None
    url: str = Field(description="Signed download link; expires; needs no API key.")


class FileObject(FileShape):
    """One file."""

    object: Literal["file"]


class JobShape(BaseModel):
    """A piece of work a message started, joined or had refused."""

    job_id: str
    kind: Literal["execution", "refusal"]
    role: Literal["execution", "follow_up"]
    work_id: str
    title: str
    status: Literal["running", "completed", "failed", "cancelled", "blocked", "expired"]
    reason: str | None
    final: bool
    queued: bool | None
    resume_by: str | None
    link: str
    started_at: str | None
    settled_at: str | None
    files: list[FileShape]


class RunningShape(BaseModel):
    """A job that held one of the slots when a start was refused."""

    job_id: str
    message_id: str
    work_id: str


class MessageShape(BaseModel):
    """A message with its reply, jobs and files."""

    id: str
    object: Literal["message"]
    status: Literal[
        "processing", "needs_input", "blocked", "completed", "partial", "failed", "expired"
    ]
    reason: str | None
    question: str | None
    final: bool = Field(description="Nothing about the message will change any more.")
    reply: str | None
    jobs: list[JobShape]
    files: list[FileShape]
    notes: list[str]
    credits_used: float
    created_at: str
    updated_at: str
    version: int = Field(description="Grows with every change; also the ETag.")
    metadata: dict[str, str] | None = None
    traceparent: str | None = Field(
        default=None, description="The W3C trace context the message came with."
    )
    resume: Literal["add_credits"] | None = None
    resume_by: str | None = None
    retry_after_seconds: int | None = None
    running: list[RunningShape] | None = None
