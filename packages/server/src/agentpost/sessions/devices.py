"""Browsers in which somebody has signed in before (design: Signing in).

A browser keeps a mark for 180 days, which names the user and is sealed with the server's secret. It
signs nobody in: its tries are counted alone, so that strangers cannot use them up
(`sessions.throttle`).
"""

from typing import Final

from agentpost.context import AppContext
from agentpost.secrets.encryption import SecretUnreadable, is_encrypted

_ROW: Final = "device"
_PARTS: Final = 3


def seal(ctx: AppContext, user_id: str) -> str:
    """The mark of a browser in which that user has signed in."""
    return ctx.cipher.encrypt(_ROW, user_id)


def user_of(ctx: AppContext, mark: str) -> str:
    """The id of the user who has signed in there; "" for what is no mark of this server."""
    if not is_encrypted(mark) or len(mark.split(":")) != _PARTS:
        return ""
    try:
        return ctx.cipher.decrypt(_ROW, mark)
    except SecretUnreadable:
        return ""
