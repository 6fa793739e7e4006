"""Uploads, and the body that announces one (spec: Upload)."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, WithJsonSchema

from agentpost.contract.shape import Shape, Time, about
from agentpost.domain import limits
from agentpost.domain.times import iso
from agentpost.messages.body_shapes import Request
from agentpost.record.records import UploadRecord

# A MIME type, perhaps with parameters, that stands in a form field and in a header without being
# changed on its way. The empty text is what a browser says of a file it does not know.
_WORD = r"[0-9A-Za-z!#$%&'*+.^_`|~-]+"
_MIME = rf"^({_WORD}/{_WORD}( *;([ -~]*[!-~])?)?)?$"


class UploadIn(Request):
    """A file to come. ``size`` has been looked at before: its refusals have other codes."""

    filename: Annotated[str, Field(min_length=1)] = Field(description="The file's name.")
    size: Annotated[
        int, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": limits.UPLOAD_BYTES_MAX})
    ] = Field(description="Exact bytes, up to 500 MB; the upload is capped at it.")
    content_type: (
        Annotated[str, Field(max_length=limits.CONTENT_TYPE_CHARACTERS_MAX, pattern=_MIME)] | None
    ) = Field(default=None, description="MIME type; guessed from the name when omitted or empty.")


class UploadCreatedShape(Shape):
    """Where to post the file, and with which form fields."""

    object: Literal["upload"] = "upload"
    upload_id: str
    filename: Annotated[str, about("What the agent will see: a plain name made of the one sent.")]
    url: Annotated[str, about("Post multipart/form-data here, the file last as `file`.")]
    fields: Annotated[dict[str, str], about("Every one goes into the form, unchanged.")]
    expires_at: Annotated[Time, about("Until then the form can be posted.")]
    max_bytes: Annotated[int, about("The declared size; a larger file is refused.")]

    @classmethod
    def of(cls, record: UploadRecord, url: str, fields: Mapping[str, str]) -> Self:
        """From its record and its form."""
        return cls(
            upload_id=record.id,
            filename=record.filename,
            url=url,
            fields=dict(fields),
            expires_at=iso(record.post_by),
            max_bytes=record.size,
        )


class UploadShape(Shape):
    """A finished upload: name its id in a message's `upload_ids`."""

    object: Literal["upload"] = "upload"
    upload_id: str
    status: Literal["ready"] = "ready"
    filename: str
    content_type: str
    size: Annotated[int, about("Bytes that arrived.")]

    @classmethod
    def of(cls, record: UploadRecord) -> Self:
        """From the record of an upload that is ready."""
        return cls.with_fields_of(record, upload_id=record.id)
