"""The public catalogue of errors: code -> HTTP status and what it means (spec: Errors).

The one table that turns a code into a status; `docs/errors.md` and the page behind every error's
``docs`` link are made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Self

from msgspec import UNSET, Meta

from agentpost.contract.shape import Maybe, Shape, about
from agentpost.domain.errors import ErrorCode, InvalidRequest, NoRoute, PollInProgress, Refusal
from agentpost.domain.limits import PROBLEMS_MAX


@dataclass(frozen=True, slots=True)
class Code:
    """``meaning``: when it happens; ``advice``: what a caller does about it."""

    status: int
    meaning: str
    advice: str


CATALOGUE: Final[dict[ErrorCode, Code]] = {
    ErrorCode.INVALID_REQUEST: Code(
        400,
        "A field is missing, has the wrong type or is out of range, or the body is not JSON.",
        "Read `problems`: it names up to ten fields and what is wrong with each.",
    ),
    ErrorCode.BAD_REQUEST: Code(
        400,
        "The request cannot be used, in a way no other code describes.",
        "Read `message`, change the request, do not repeat it unchanged.",
    ),
    ErrorCode.EMPTY_MESSAGE: Code(
        400,
        "The message has no text, no files and no uploads.",
        "Give at least one of `message`, `files` and `upload_ids`.",
    ),
    ErrorCode.TOO_LONG: Code(
        400,
        "The text of the message has more than 20,000 characters.",
        "Shorten it, or attach it as a file.",
    ),
    ErrorCode.TOO_MANY: Code(
        400, "More than 10 different uploads are named.", "Send them with several messages."
    ),
    ErrorCode.BAD_CURSOR: Code(
        400,
        "The events cursor is damaged, or was given for another message or key.",
        "Use the cursor of the last answer unchanged, or none to read from the start.",
    ),
    ErrorCode.BAD_URL: Code(
        400,
        "The webhook address cannot be used.",
        "Use public https on port 443 or 8443, without user name, up to 2,000 characters. On"
        " your own server, the setting `AGENTPOST_EGRESS_ALLOW` names hosts and addresses that"
        " may be private, plain http or on another port; `AGENTPOST_EGRESS_DENY` and"
        " `AGENTPOST_EGRESS_PORTS` refuse more.",
    ),
    ErrorCode.BAD_EVENTS: Code(
        400, "The list of events is empty or names an unknown one.", "Use names of the event list."
    ),
    ErrorCode.BAD_SIZE: Code(
        400,
        "The size of the upload is missing or no positive whole number.",
        "Send the exact number of bytes.",
    ),
    ErrorCode.UNAUTHORIZED: Code(
        401,
        "The API key is missing, unknown, expired or revoked.",
        "Send `Authorization: Bearer <key>` with a live key.",
    ),
    ErrorCode.FORBIDDEN: Code(
        403,
        "The API key lacks the scope that the operation needs, or may not be used from the address"
        " that the call came from; `message` names it.",
        "Use a key with this scope, which is chosen when a key is created, or call from an address"
        " of the key's allow-list.",
    ),
    ErrorCode.LINK_INVALID: Code(
        403,
        "The download link is damaged or has expired.",
        "Get a fresh link with GET /v1/files/{file_id}.",
    ),
    ErrorCode.NOT_FOUND: Code(
        404,
        "Nothing with this id exists for this key or account, or the route is unknown.",
        "Check the id and the key; messages are kept for a limited time.",
    ),
    ErrorCode.METHOD_NOT_ALLOWED: Code(
        405, "The route exists, but not with this method.", "See the `Allow` header."
    ),
    ErrorCode.IDEMPOTENCY_CONFLICT: Code(
        409,
        "The Idempotency-Key was used with another body within the last seven days.",
        "Use a new key for a new message.",
    ),
    ErrorCode.NOT_FINAL: Code(
        409,
        "The message is not final: its agent or its work still runs.",
        "Wait until it is final, or cancel it first.",
    ),
    ErrorCode.POLL_IN_PROGRESS: Code(
        409,
        "Another call already waits for this message's events.",
        "Wait for that one, or continue with the `cursor` of this answer.",
    ),
    ErrorCode.TOO_MANY_ENDPOINTS: Code(
        409, "The account has 10 webhook endpoints.", "Delete one that is not needed."
    ),
    ErrorCode.NOT_PENDING: Code(
        409, "The upload was refused or belongs to a message already.", "Create a new upload."
    ),
    ErrorCode.NOT_UPLOADED: Code(
        409,
        "The file has not arrived, or its time to arrive is over.",
        "Post the file to the upload's `url` first.",
    ),
    ErrorCode.CHANGED: Code(
        409, "The uploaded file was replaced while it was checked.", "Call complete again."
    ),
    ErrorCode.UPLOAD_NOT_READY: Code(
        409,
        "A named upload is not complete, is used already or is not on this account.",
        "Complete every upload before naming it in a message.",
    ),
    ErrorCode.FILE_CHANGED: Code(
        412,
        "The file was replaced since this link was created.",
        "Get a fresh link with GET /v1/files/{file_id}.",
    ),
    ErrorCode.TOO_LARGE: Code(
        413,
        "The body, the upload, all uploads of the message together, or all unfinished uploads or"
        " all files of the account together are too large.",
        "See the limits; large files go through uploads.",
    ),
    ErrorCode.RANGE_NOT_SATISFIABLE: Code(
        416, "The file has no such byte range.", "Ask for a range inside the file."
    ),
    ErrorCode.EXECUTABLE_REFUSED: Code(
        422,
        "The uploaded file is a program, or the server's malware scanner found something in it; it"
        " was deleted.",
        "Programs are not accepted.",
    ),
    ErrorCode.RATE_LIMITED: Code(
        429, "A rate limit is reached.", "Wait for the seconds in `Retry-After`, then retry."
    ),
    ErrorCode.INTERNAL: Code(
        500,
        "The server failed.",
        "Retry with growing pauses and the same Idempotency-Key; report the request id.",
    ),
    ErrorCode.UNAVAILABLE: Code(
        503,
        "The API is switched off, more messages or large bodies arrive than can be taken, or"
        " nothing can be stored at the moment.",
        "Retry later, with growing pauses; not before `Retry-After`, when it is there.",
    ),
}


def in_words(refusal: Refusal, names: Mapping[str, str] | None = None) -> tuple[str, str]:
    """What is wrong and what to do, for a form of errors without a place for problems: the text
    has them all. What to do is empty where the text says it. ``names``: what the caller calls a
    field."""
    if isinstance(refusal, NoRoute):
        return refusal.message, ""
    if not isinstance(refusal, InvalidRequest):
        return refusal.message, CATALOGUE[refusal.code].advice
    wrong = [
        each.problem
        if each.field is None
        else f"{(names or {}).get(each.field, each.field)} {each.problem}"
        for each in refusal.problems[:PROBLEMS_MAX]
    ]
    return f"The request is not valid: {'; '.join(wrong)}.", "Correct the named fields, then retry."


class ProblemShape(Shape):
    """One field of the request and what is wrong with it."""

    field: Annotated[str | None, about("Dotted path such as files.0.url; null: the whole body.")]
    problem: str


class ErrorShape(Shape):
    """Every error answer. Branch on `error`; `message` is for people and may change."""

    error: Annotated[str, Meta(examples=["not_found"])]
    message: str
    request_id: str
    docs: Annotated[str, about("Where this code is explained.")]
    problems: Annotated[
        Maybe[list[ProblemShape]], about("Only with invalid_request: up to ten.")
    ] = UNSET
    cursor: Annotated[
        Maybe[str], about("Only with poll_in_progress: the cursor to continue from.")
    ] = UNSET

    @classmethod
    def of(cls, refusal: Refusal, request_id: str, docs_url: str) -> Self:
        """From what was refused."""
        problems: Maybe[list[ProblemShape]] = UNSET
        if isinstance(refusal, InvalidRequest):
            first = refusal.problems[:PROBLEMS_MAX]
            problems = [ProblemShape(field=each.field, problem=each.problem) for each in first]
        return cls(
            error=refusal.code,
            message=refusal.message,
            request_id=request_id,
            docs=f"{docs_url}#{refusal.code}",
            problems=problems,
            cursor=refusal.cursor if isinstance(refusal, PollInProgress) else UNSET,
        )
