"""The calls of the parts of the OpenAI API that there are."""

from __future__ import annotations

from collections.abc import Mapping

from agentpost.api.operation import Api, Handler
from agentpost.doors.openai import files, models
from agentpost.doors.openai.responses import http as responses


def handlers(_: Api) -> Mapping[tuple[str, str], Handler]:
    """See `doors.routes.Door`."""
    return {**responses.handlers(), **files.handlers(), **models.handlers()}
