"""The calls of the parts of the OpenAI API that there are."""

from __future__ import annotations

from collections.abc import Mapping

from agentpost.api.operation import Api, Handler
from agentpost.doors.openai import files, models
from agentpost.doors.openai.chat import http as chat
from agentpost.doors.openai.responses import http as responses


def handlers(_: Api) -> Mapping[tuple[str, str], Handler]:
    """See `doors.routes.Door`."""
    apis = (responses, chat, files, models)
    return {route: handler for api in apis for route, handler in api.handlers().items()}
