"""A class for every code the API refuses a request with.

Made by docs/client_models.py from the server's catalogue of errors; change that.
"""

from __future__ import annotations

from typing import ClassVar

from agentpost_client.api_error import ApiError


class InvalidRequest(ApiError):
    """A field is missing, has the wrong type or is out of range, or the body is not JSON."""

    hint: ClassVar[str] = "Read `problems`: it names up to ten fields and what is wrong with each."


class BadRequest(ApiError):
    """The request cannot be used, in a way no other code describes."""

    hint: ClassVar[str] = "Read `message`, change the request, do not repeat it unchanged."


class EmptyMessage(ApiError):
    """The message has no text, no files and no uploads."""

    hint: ClassVar[str] = "Give at least one of `message`, `files` and `upload_ids`."


class TooLong(ApiError):
    """The text of the message has more than 20,000 characters."""

    hint: ClassVar[str] = "Shorten it, or attach it as a file."


class TooMany(ApiError):
    """More than 10 different uploads are named."""

    hint: ClassVar[str] = "Send them with several messages."


class BadCursor(ApiError):
    """The events cursor is damaged, or was given for another message or key."""

    hint: ClassVar[str] = (
        "Use the cursor of the last answer unchanged, or none to read from the start."
    )


class BadUrl(ApiError):
    """The webhook address cannot be used."""

    hint: ClassVar[str] = (
        "Use public https on port 443 or 8443, without user name, up to 2,000 characters. On "
        "your own server, the setting `AGENTPOST_EGRESS_ALLOW` names hosts and addresses that "
        "may be private, plain http or on another port; `AGENTPOST_EGRESS_DENY` and "
        "`AGENTPOST_EGRESS_PORTS` refuse more."
    )


class BadEvents(ApiError):
    """The list of events is empty or names an unknown one."""

    hint: ClassVar[str] = "Use names of the event list."


class BadSize(ApiError):
    """The size of the upload is missing or no positive whole number."""

    hint: ClassVar[str] = "Send the exact number of bytes."


class Unauthorized(ApiError):
    """The API key is missing, unknown, expired or revoked."""

    hint: ClassVar[str] = "Send `Authorization: Bearer <key>` with a live key."


class Forbidden(ApiError):
    """The API key lacks the scope that the operation needs, or may not be used from the address
    that the call came from; `message` names it."""

    hint: ClassVar[str] = (
        "Use a key with this scope, which is chosen when a key is created, or call from an "
        "address of the key's allow-list."
    )


class LinkInvalid(ApiError):
    """The download link is damaged or has expired."""

    hint: ClassVar[str] = "Get a fresh link with GET /v1/files/{file_id}."


class NotFound(ApiError):
    """Nothing with this id exists for this key or account, or the route is unknown."""

    hint: ClassVar[str] = "Check the id and the key; messages are kept for a limited time."


class MethodNotAllowed(ApiError):
    """The route exists, but not with this method."""

    hint: ClassVar[str] = "See the `Allow` header."


class IdempotencyConflict(ApiError):
    """The Idempotency-Key was used with another body within the last seven days."""

    hint: ClassVar[str] = "Use a new key for a new message."


class NotFinal(ApiError):
    """The message is not final: its agent or its work still runs."""

    hint: ClassVar[str] = "Wait until it is final, or cancel it first."


class PollInProgress(ApiError):
    """Another call already waits for this message's events."""

    hint: ClassVar[str] = "Wait for that one, or continue with the `cursor` of this answer."


class TooManyEndpoints(ApiError):
    """The account has 10 webhook endpoints."""

    hint: ClassVar[str] = "Delete one that is not needed."


class NotPending(ApiError):
    """The upload was refused or belongs to a message already."""

    hint: ClassVar[str] = "Create a new upload."


class NotUploaded(ApiError):
    """The file has not arrived, or its time to arrive is over."""

    hint: ClassVar[str] = "Post the file to the upload's `url` first."


class Changed(ApiError):
    """The uploaded file was replaced while it was checked."""

    hint: ClassVar[str] = "Call complete again."


class UploadNotReady(ApiError):
    """A named upload is not complete, is used already or is not on this account."""

    hint: ClassVar[str] = "Complete every upload before naming it in a message."


class FileChanged(ApiError):
    """The file was replaced since this link was created."""

    hint: ClassVar[str] = "Get a fresh link with GET /v1/files/{file_id}."


class TooLarge(ApiError):
    """The body, the upload, all uploads of the message together, or all unfinished uploads or
    all files of the account together are too large."""

    hint: ClassVar[str] = "See the limits; large files go through uploads."


class RangeNotSatisfiable(ApiError):
    """The file has no such byte range."""

    hint: ClassVar[str] = "Ask for a range inside the file."


class ExecutableRefused(ApiError):
    """The uploaded file is a program, or the server's malware scanner found something in it; it
    was deleted."""

    hint: ClassVar[str] = "Programs are not accepted."


class RateLimited(ApiError):
    """A rate limit is reached."""

    hint: ClassVar[str] = "Wait for the seconds in `Retry-After`, then retry."


class Internal(ApiError):
    """The server failed."""

    hint: ClassVar[str] = (
        "Retry with growing pauses and the same Idempotency-Key; report the request id."
    )


class Unavailable(ApiError):
    """The API is switched off, more messages or large bodies arrive than can be taken, or
    nothing can be stored at the moment."""

    hint: ClassVar[str] = (
        "Retry later, with growing pauses; not before `Retry-After`, when it is there."
    )


BY_CODE: dict[str, type[ApiError]] = {
    "invalid_request": InvalidRequest,
    "bad_request": BadRequest,
    "empty_message": EmptyMessage,
    "too_long": TooLong,
    "too_many": TooMany,
    "bad_cursor": BadCursor,
    "bad_url": BadUrl,
    "bad_events": BadEvents,
    "bad_size": BadSize,
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "link_invalid": LinkInvalid,
    "not_found": NotFound,
    "method_not_allowed": MethodNotAllowed,
    "idempotency_conflict": IdempotencyConflict,
    "not_final": NotFinal,
    "poll_in_progress": PollInProgress,
    "too_many_endpoints": TooManyEndpoints,
    "not_pending": NotPending,
    "not_uploaded": NotUploaded,
    "changed": Changed,
    "upload_not_ready": UploadNotReady,
    "file_changed": FileChanged,
    "too_large": TooLarge,
    "range_not_satisfiable": RangeNotSatisfiable,
    "executable_refused": ExecutableRefused,
    "rate_limited": RateLimited,
    "internal": Internal,
    "unavailable": Unavailable,
}
"""Code -> its class. A code that is not here is raised as an `ApiError`."""
