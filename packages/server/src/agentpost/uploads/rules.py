"""Upload states (spec: Upload states): pending until checked, attached to one message at most."""

from enum import StrEnum

from agentpost.domain.errors import RuleBroken


class UploadStatus(StrEnum):
    """What a client reads."""

    PENDING = "pending"
    READY = "ready"
    ATTACHED = "attached"
    REJECTED = "rejected"


class UploadSignal(StrEnum):
    """The signals of an upload."""

    CHECKED = "checked"  # complete found the bytes as declared
    REFUSED = "refused"  # an executable, or larger than declared
    ATTACHED = "attached"  # a message took it
    TIMED_OUT = "timed_out"  # never attached in time


UPLOADS: dict[tuple[UploadStatus, UploadSignal], UploadStatus | None] = {
    (UploadStatus.PENDING, UploadSignal.CHECKED): UploadStatus.READY,
    (UploadStatus.PENDING, UploadSignal.REFUSED): UploadStatus.REJECTED,
    (UploadStatus.READY, UploadSignal.CHECKED): UploadStatus.READY,  # complete is repeatable
    (UploadStatus.READY, UploadSignal.ATTACHED): UploadStatus.ATTACHED,
    (UploadStatus.PENDING, UploadSignal.TIMED_OUT): None,  # None: deleted
    (UploadStatus.READY, UploadSignal.TIMED_OUT): None,
    (UploadStatus.REJECTED, UploadSignal.TIMED_OUT): None,
}


def upload(status: UploadStatus, signal: UploadSignal) -> UploadStatus | None:
    """The next status, None when the upload is deleted; raises `RuleBroken` without a row."""
    try:
        return UPLOADS[status, signal]
    except KeyError:
        raise RuleBroken(f"an upload that is {status} cannot take {signal}") from None
