"""Text that can be stored or shown, and numbers written for people."""

import math
import re
from typing import Any, Final

from agentpost.domain.limits import SAID_CHARACTERS_MAX

UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""Characters that no database takes: U+0000 and halves of surrogate pairs."""

CUT_SHORT: Final = "[The answer is cut off here: the model reached its limit for one answer.]"
"""The end of a text that a model could not finish."""

_HIDDEN: Final = "\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_HIDDEN_IN_TEXT: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")
_HIDDEN_IN_LINE: Final = re.compile(f"[\x00-\x1f\u2028\u2029{_HIDDEN}]")
_BYTE_UNITS: Final = ("bytes", "kB", "MB", "GB")


def storable(text: str) -> str:
    """The text without U+0000, and with a question mark for each half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def storable_json(value: Any) -> Any:
    """The JSON value with U+FFFD for each U+0000 and half of a surrogate pair, and with the name of
    each number that JSON does not have, such as NaN."""
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {storable_json(name): storable_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(each) for each in value]
    return value


def cut_short(text: str) -> str:
    """The text, which a model could not finish, with a sentence that says so."""
    return f"{text}\n\n{CUT_SHORT}"


def agent_text(text: object) -> str:
    """What an agent says, `storable` and without white space at its ends.

    Raises `TypeError` for what is no text and `ValueError` for more than `SAID_CHARACTERS_MAX`.
    """
    if not isinstance(text, str):
        raise TypeError(f"an agent's text must be a str, not {type(text).__name__}")
    if len(text) > SAID_CHARACTERS_MAX:
        raise ValueError(
            f"an agent's text has at most {SAID_CHARACTERS_MAX:,} characters; write a file"
        )
    return storable(text).strip()


def displayable(text: str, instead: str = "", *, lines: bool = True) -> str:
    """The text with ``instead`` for each control character, mark that changes the direction of
    what follows (a name could look like another one) and half of a surrogate pair.

    Line ends and tabs stay; without ``lines`` they and line separators are replaced, too.
    """
    return (_HIDDEN_IN_TEXT if lines else _HIDDEN_IN_LINE).sub(instead, text)


def displayable_json(text: str) -> str:
    """JSON with each character that `displayable` leaves out of a text written as an escape: the
    same value, and nothing that drives a terminal."""
    return _HIDDEN_IN_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def human_size(size: int) -> str:
    """Bytes for people, such as ``12.3 kB``; a unit is a thousand of the one before."""
    if size == 1:
        return "1 byte"
    amount, unit = float(size), 0
    while round(amount, 1 if unit else 0) >= 1000 and unit < len(_BYTE_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_BYTE_UNITS[unit]}" if unit else f"{size} {_BYTE_UNITS[0]}"


def human_credits(amount: float) -> str:
    """Credits for people: ``1 credit``, ``2.5 credits``."""
    digits = f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{digits} credit" if digits == "1" else f"{digits} credits"
