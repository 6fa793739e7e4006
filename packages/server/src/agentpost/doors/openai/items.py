"""The ids of responses and of their output items: another prefix before the tail of our own ids."""

from typing import Final

from agentpost.domain import ids

RESPONSE: Final = "resp_"
_QUESTION: Final = "_question"


def message_id_of(response_id: str) -> str | None:
    """The message that a response stands for; None for what is no id of a response."""
    message_id = ids.MESSAGE + response_id.removeprefix(RESPONSE)
    is_one = response_id.startswith(RESPONSE) and ids.is_id(ids.MESSAGE, message_id)
    return message_id if is_one else None


def response_id_of(message_id: str) -> str:
    """The response that stands for a message."""
    return RESPONSE + message_id.removeprefix(ids.MESSAGE)


def item_id_of(source: str) -> str:
    """The id of the item that shows an output, by the id of the output: all items of OpenAI's API
    that are messages have one prefix."""
    return ids.MESSAGE + source.partition("_")[2]


def sources_of(item_id: str) -> tuple[str, str] | None:
    """The message and the job, one of which the item with that id belongs to; None for an id that
    is not of this server's making."""
    message_id = item_id.removesuffix(_QUESTION)
    if not ids.is_id(ids.MESSAGE, message_id):
        return None
    return message_id, ids.JOB + message_id.removeprefix(ids.MESSAGE)
