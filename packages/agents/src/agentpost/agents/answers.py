"""What an agent gets when it asks for an answer of a kind, or gives an output of a kind."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user answered to a typed question: one of the choices, or JSON that fits its schema.

    ``message_id``: the message that asked, whether in its turn or by one of its jobs.
    """

    message_id: str
    value: Any


class OutputInvalid(Exception):
    """An output does not fit the caller's ``response_schema``; the next one has to.

    Its text has a line for each problem, with the place in the value, such as
    ``$.total: "12" is not of type "number"``.
    """

    @property
    def problems(self) -> list[str]:
        """The lines of the text."""
        return str(self).splitlines()
