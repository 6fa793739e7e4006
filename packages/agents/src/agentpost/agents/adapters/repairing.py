"""What a model got wrong in its answer and what can be put right without asking it again.

A model is a program that makes mistakes: it writes half of an emoji, or gives two calls of tools
the same id. No database keeps the one, and no framework can tell the others apart.
"""

from __future__ import annotations

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


async def whole(
    attempt: Callable[[], Awaitable[_Answer | None]], drop_shown: Callable[[], None]
) -> _Answer:
    """The answer of ``attempt``, which gives None when it broke off and is made again then.

    ``drop_shown`` tells readers to drop what they were shown. Raises `JobFailed` after some tries.
    """
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
