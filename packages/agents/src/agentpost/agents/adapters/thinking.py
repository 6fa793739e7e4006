"""The reasoning that a local model writes before its answer, between `<think>` and `</think>`.

Services with the protocol of OpenAI send it in the text, in whatever pieces it comes, and an answer
that reaches its limit may end within it or within a tag. Tags behind the beginning of an answer are
the answer's own words, as in one that explains them.
"""

from __future__ import annotations

from typing import Final

_OPEN: Final = "<think>"
CLOSE: Final = "</think>"


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
