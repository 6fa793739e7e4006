"""The calls of the parts of the OpenAI API that there are."""

from collections.abc import Mapping
from typing import Final

from agentpost.api.operation import Api, Handler
from agentpost.doors.openai import files, models
from agentpost.doors.openai.chat import http as chat
from agentpost.doors.openai.responses import http as responses

_RESPONSE: Final = "/openai/v1/responses/{response_id}"
_FILES: Final = "/openai/v1/files"
_FILE: Final = f"{_FILES}/{{file_id:path}}"
_HANDLERS: Final[Mapping[tuple[str, str], Handler]] = {
    ("POST", "/openai/v1/responses"): responses.create,
    ("GET", _RESPONSE): responses.retrieve,
    ("DELETE", _RESPONSE): responses.delete,
    ("POST", f"{_RESPONSE}/cancel"): responses.cancel,
    ("GET", f"{_RESPONSE}/input_items"): responses.input_items,
    ("POST", "/openai/v1/chat/completions"): chat.create,
    ("POST", _FILES): files.create,
    ("GET", _FILES): files.list_page,
    ("GET", f"{_FILE}/content"): files.content,
    ("GET", _FILE): files.retrieve,
    ("DELETE", _FILE): files.delete,
    ("GET", "/openai/v1/models"): models.list_all,
    ("GET", "/openai/v1/models/{model}"): models.get,
}


def handlers(_: Api) -> Mapping[tuple[str, str], Handler]:
    """The handler of each route (`doors.routes.Door`)."""
    return _HANDLERS
