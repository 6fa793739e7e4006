"""Errors of a caller. Errors know a code, never a transport.

    Refusal                     a request is refused; `code` is stable, the text may change
    ├── InvalidRequest          with `problems`: which fields, and why
    ├── NoRoute                 an address that is not served; the text says what to do
    ├── PollInProgress          with the `cursor` to go on from
    ├── RateLimited             with `retry_after_seconds`
    ├── Overloaded              with `retry_after_seconds`
    ├── KeyEnded                the key was revoked or expired while its call was held
    └── BeyondTheEnd            with the `size` in bytes of the file
    RuleBroken                  a programmer's error: a signal the state has no row for
    Fenced                      the writer no longer owns the turn or job it writes for
    StoreUnavailable            the database or the file storage does not serve now; a fault of ours

`contract/errors.py` maps each code to its HTTP status and its page in the documentation.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

KEY_NOT_VALID: Final = "This API key is not valid: it is unknown, revoked or expired."


class ErrorCode(StrEnum):
    """The codes of the catalogue (`contract.errors`); clients rely on them."""

    INVALID_REQUEST = "invalid_request"
    BAD_REQUEST = "bad_request"
    EMPTY_MESSAGE = "empty_message"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    BAD_CURSOR = "bad_cursor"
    BAD_URL = "bad_url"
    BAD_EVENTS = "bad_events"
    BAD_SIZE = "bad_size"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    LINK_INVALID = "link_invalid"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_FINAL = "not_final"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    POLL_IN_PROGRESS = "poll_in_progress"
    TOO_MANY_ENDPOINTS = "too_many_endpoints"
    NOT_PENDING = "not_pending"
    NOT_UPLOADED = "not_uploaded"
    CHANGED = "changed"
    UPLOAD_NOT_READY = "upload_not_ready"
    FILE_CHANGED = "file_changed"
    TOO_LARGE = "too_large"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    EXECUTABLE_REFUSED = "executable_refused"
    RATE_LIMITED = "rate_limited"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Problem:
    """One field and what is wrong with it; ``field`` is a dotted path, None for the whole body."""

    field: str | None
    problem: str


class Refusal(Exception):
    """A request is refused with a code of the catalogue; nothing was changed."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class InvalidRequest(Refusal):
    """``invalid_request``: up to ten problems (spec: Errors)."""

    def __init__(self, *problems: Problem) -> None:
        first = problems[0]
        where = f" ({first.field})" if first.field else ""
        super().__init__(
            ErrorCode.INVALID_REQUEST, f"The request is not valid{where}: {first.problem}."
        )
        self.problems = problems


class NoRoute(Refusal):
    """``not_found`` for an address that the server does not serve; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NOT_FOUND, message)


class PollInProgress(Refusal):
    """``poll_in_progress``: another events wait runs for this message."""

    def __init__(self, cursor: str) -> None:
        super().__init__(
            ErrorCode.POLL_IN_PROGRESS,
            "Another call is already waiting for this message's events; go on with the cursor.",
        )
        self.cursor = cursor


class RateLimited(Refusal):
    """``rate_limited``: come back after that many seconds."""

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        super().__init__(ErrorCode.RATE_LIMITED, message)
        self.retry_after_seconds = retry_after_seconds


class Overloaded(Refusal):
    """``unavailable``: there is no room for it now; come back after that many seconds."""

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        super().__init__(ErrorCode.UNAVAILABLE, message)
        self.retry_after_seconds = retry_after_seconds


class KeyEnded(Refusal):
    """``unauthorized``: the key was revoked or expired while its call was held.

    What the call did before stands: a message that was accepted stays accepted.
    """

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNAUTHORIZED, KEY_NOT_VALID)


class BeyondTheEnd(Refusal):
    """``range_not_satisfiable``: the file has only that many bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(ErrorCode.RANGE_NOT_SATISFIABLE, f"The file has {size} bytes.")
        self.size = size


class RuleBroken(Exception):
    """No row of the tables allows this signal in this state."""


class Fenced(Exception):
    """The turn or job was taken over or has ended; the runner must stop without a trace."""


class StoreUnavailable(Exception):
    """The database or the file storage cannot be used now: nothing was stored, or nobody may rely
    on it. The text is for operators; callers of the API get ``unavailable`` and come back later."""


def key_not_valid() -> Refusal:
    """The one 401 of keys: unknown, expired and revoked look the same (spec: Authentication 3)."""
    return Refusal(ErrorCode.UNAUTHORIZED, KEY_NOT_VALID)


def not_from_here(address: str) -> Refusal:
    """``forbidden``: the key may not be used from this address (design: Key networks)."""
    place = f"the address {address[:100]}" if address else "an address that is not known"
    return Refusal(
        ErrorCode.FORBIDDEN,
        f"This key may not be used from {place}. Call from an address that its allow-list has, or"
        " have the list changed (the page of API keys, agentpost keys allow). If this is the"
        " address of a proxy of the server, the setting trusted_proxies lacks it.",
    )


def not_found(what: str) -> Refusal:
    """The one 404: foreign, unknown, expired and deleted look the same (design: Keys and ids)."""
    return Refusal(ErrorCode.NOT_FOUND, f"There is no such {what}.")


def reason_of(error: BaseException) -> str:
    """A fault for the log and the operator: its class and the first line of its text."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:500]
