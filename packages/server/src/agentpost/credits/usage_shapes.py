"""What an account used (design: Usage)."""

from __future__ import annotations

from typing import Annotated, Literal

from agentpost.contract.shape import Shape, about
from agentpost.credits.usage_rules import UsageGroup


class UsageShape(Shape):
    """The use of a day, a key or a conversation."""

    object: Literal["usage"] = "usage"
    group: UsageGroup
    id: Annotated[
        str,
        about(
            "The day in UTC such as `2026-01-31`, the id of the key or of the conversation; `app`"
            " for messages from the web app, `deleted` for credits whose message is deleted."
        ),
    ]
    name: Annotated[
        str | None,
        about(
            "The name of the key or conversation; null for a day, without one, and for the"
            " conversation of another key unless the key has the scope `read_all`."
        ),
    ]
    messages: int
    jobs: Annotated[int, about("Jobs that these messages started; refused starts do not count.")]
    credits: Annotated[float, about("Credits charged in this time.")]


class UsageListShape(Shape):
    """A page of usage, by `id`, the greatest first; continue with `before` = the last `id`."""

    object: Literal["list"] = "list"
    data: list[UsageShape]
    has_more: bool
