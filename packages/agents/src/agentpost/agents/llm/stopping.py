"""Whether a message that comes while the agent works asks it to stop: one short model call.

Every other message joins the job that runs and is answered by it.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agentpost.agents.base import Json, Turn

logger = logging.getLogger(__name__)

CHARACTERS_MAX: Final = 300
"""A longer message asks for more than a stop, and joins without a call."""
SECONDS: Final = 20.0
ANSWER_TOKENS: Final = 1_000
STOP: Final = ToolDefinition(
    name="stop",
    description="Stop the work that is under way, because the user asks for that.",
    parameters_json_schema={
        "type": "object",
        "properties": {
            "reply": {
                "type": "string",
                "description": "One short sentence to the user, in the user's language: that the"
                " work is stopped.",
            }
        },
        "required": ["reply"],
        "additionalProperties": False,
    },
)
_INSTRUCTIONS: Final = """\
You are working for the user on: {titles}. The user now sends the message below. If it asks you to
stop, cancel or give up that work, call stop. Otherwise answer with the one word: continue."""


async def stop_if_asked(model: Model, turn: Turn) -> bool:
    """Stop what runs, if the user asks for that; False when the message is to join it, or wants an
    output."""
    wants_output = turn.response_schema is not None
    if not turn.running or wants_output or len(turn.message.text) > CHARACTERS_MAX:
        return False

    async def ask_whether_to_stop(text: str, titles: list[str]) -> Json:
        return await _reply(model, text, titles)

    titles = [running.title for running in turn.running]
    reply = await turn.step(ask_whether_to_stop, turn.message.text, titles)
    if reply is None:
        return False
    for running in turn.running:
        await turn.stop(running.job_id)
    turn.reply(str(reply))
    return True


async def _reply(model: Model, text: str, titles: Sequence[str]) -> str | None:
    """What to say when it is to be stopped; None when not, or when the model does not answer."""
    request = ModelRequest(
        parts=[UserPromptPart(text)], instructions=_INSTRUCTIONS.format(titles="; ".join(titles))
    )
    parameters = ModelRequestParameters(function_tools=[STOP], allow_text_output=True)
    try:
        async with asyncio.timeout(SECONDS):
            answer = await model_request(
                model,
                [request],
                model_settings=ModelSettings(max_retries=0, max_tokens=ANSWER_TOKENS),
                model_request_parameters=parameters,
            )
    except (ModelAPIError, UnexpectedModelBehavior, TimeoutError) as error:
        logger.warning("whether to stop was not answered: %s", error or "it took too long")
        return None
    for part in answer.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == STOP.name:
            reply = part.args_as_dict().get("reply")
            return reply if isinstance(reply, str) and reply.strip() else "Stopped."
    return None
