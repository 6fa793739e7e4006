"""How usage is summed up (design: Usage)."""

from enum import StrEnum
from typing import Final

from agentpost.domain import ids


class UsageGroup(StrEnum):
    """What a line of usage stands for."""

    DAY = "day"
    KEY = "key"
    CONVERSATION = "conversation"


APP: Final = "app"
"""The id of the line for messages written in the web app: they have no key."""
DELETED: Final = "deleted"
"""The id of the line for credits whose message is deleted."""
ID_PATTERNS: Final = {
    UsageGroup.DAY: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    UsageGroup.KEY: f"{ids.pattern(ids.KEY)}|^{APP}$|^{DELETED}$",
    UsageGroup.CONVERSATION: f"{ids.pattern(ids.CONVERSATION)}|^{APP}$|^{DELETED}$",
}
"""What the ids of lines look like."""
