"""What PostgreSQL's error codes say about the session that got them."""

from typing import Final

_READ_ONLY: Final = "25006"
_LOST: Final = ("08", "57P0")
"""Exceptions of the connection, and a server that ends its sessions."""


def ends_session(error: BaseException) -> bool:
    """Whether no further statement can succeed on the session that raised ``error``, a driver's
    error with its ``sqlstate``. For sessions that write: one whose server takes no writes stays as
    it is after another server has become the primary."""
    state = getattr(error, "sqlstate", None) or ""
    return state == _READ_ONLY or state.startswith(_LOST)
