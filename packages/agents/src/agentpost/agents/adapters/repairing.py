"""What a model got wrong in its answer and what can be put right without asking it again: half of
an emoji, which no database keeps, and one id for two calls, which no framework tells apart.

A local model writes its reasoning between `<think>` and `</think>`, which comes in the text, in any
pieces. Tags behind the beginning of an answer are its own words, as in one that explains them.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from agentpost.agents.base import JobFailed
from agentpost.domain.text import UNSTORABLE, storable_json

NOTHING_SAID: Final = (
    "The model reached its limit for one answer before it had said anything that can be used. Ask"
    " for less at once."
)
_TRIES: Final = 3
"""How often an answer is asked for that breaks off."""
_Answer = TypeVar("_Answer")
_OPEN: Final = "<think>"
CLOSE: Final = "</think>"


async def whole(
    attempt: Callable[[], Awaitable[_Answer | None]], drop_shown: Callable[[], None]
) -> _Answer:
    """The answer of ``attempt``, which gives None when it broke off and is made again then, with
    ``drop_shown`` called before. Raises `JobFailed` after some tries."""
    for _ in range(_TRIES):
        answer = await attempt()
        if answer is not None:
            return answer
        drop_shown()
    raise JobFailed("The model's answer broke off several times. Please try again later.")


def storable_arguments(text: str) -> str:
    """The arguments of a call, as JSON, without characters that cannot be stored; they may be
    written as escapes. What is no JSON is left as it is, since the model is told of that."""
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    if UNSTORABLE.search(text) or "\\u" in text:
        return json.dumps(storable_json(arguments), ensure_ascii=False)
    return text


def number_ids(calls: Sequence[dict[str, Any]], field: str, earlier: Iterable[str] = ()) -> None:
    """Give each of the calls of one answer an id that no other one has; ``field`` is its name.

    ``earlier`` are the ids of the calls before, where an approval of one would count for another.
    """
    used_ids = set(earlier)
    for call in calls:
        first, number = call[field], 1
        while call[field] in used_ids:
            call[field] = f"{first}_{number}"
            number += 1
        used_ids.add(call[field])


class ThinkingFilter:
    """Takes the reasoning out of a text that comes in pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._is_thinking = False
        self._has_thought = False
        self._has_begun = False

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        if self._has_begun:
            return piece
        self._held += piece
        while not self._has_begun:
            tag = CLOSE if self._is_thinking else _OPEN
            before, is_whole_tag, after = self._held.partition(tag)
            if is_whole_tag and (self._is_thinking or not before.strip()):
                self._held = after
                self._is_thinking = not self._is_thinking
                self._has_thought = True
            elif self._is_thinking:
                self._held = self._held[-len(CLOSE) :]  # the rest cannot be part of the tag
                return ""
            elif _OPEN.startswith(self._held.strip()):
                return ""
            else:
                self._has_begun = True
        return self._visible_text()

    def end(self, *, is_cut_short: bool) -> str:
        """The rest of what can be shown: a beginning like that of a tag, unless the model reached
        its limit within it."""
        return "" if self._has_begun or self._is_thinking or is_cut_short else self._visible_text()

    def _visible_text(self) -> str:
        return self._held.lstrip() if self._has_thought else self._held


def without_thinking(text: str, *, is_cut_short: bool) -> str:
    """The answer in a whole text."""
    reader = ThinkingFilter()
    return reader.feed(text) + reader.end(is_cut_short=is_cut_short)
