"""What a model is sent fits a budget: the oldest parts of a conversation are shortened first.

The same messages are always shortened in the same way, so a provider can cache them, and a run that
begins again sends what it sent before.
"""

import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeAlias

import pydantic_ai as ai
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_core import to_json

from agentpost.agents.adapters.pydantic_ai import is_prompt
from agentpost.agents.llm.offering import without_left_out

logger = logging.getLogger(__name__)

BYTES_PER_TOKEN: Final = 3
"""Of UTF-8. English has four and more, tables and programs about three: this errs on the safe
side."""
RESULT_CHARACTERS: Final = 500
"""What is left of a long result of a tool, and of each long argument of its call."""
PROMPT_CHARACTERS: Final = 2_000
"""What is left of a long message of the user, which has the text of its files."""
SAID_CHARACTERS: Final = 100
SAID_LINES: Final = 20
"""Of the messages that are left out, so many of the last ones are named by their first line."""

_NOTE_CHARACTERS: Final = 60

Shortening: TypeAlias = Callable[[Any, int | None], Any]
"""Makes a part shorter by so many bytes, if it can, and no shorter than is worth it; None: as short
as that."""


class FittingModel(WrapperModel):
    """A model that is sent what fits its budget of ``tokens`` (0: none), as they are estimated
    here, and half of that once more when it is too long."""

    def __init__(self, model: Model, tokens: int) -> None:
        super().__init__(model)
        self._bytes = tokens * BYTES_PER_TOKEN

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ai.ModelMessage],
        model_settings: ai.ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncIterator[StreamedResponse]:
        """A provider says that it is too long before it writes; raises
        `ModelContextWindowExceededError` when half is, too. All of our models are streamed."""
        parameters = without_left_out(model_request_parameters)
        tools = tools_size(parameters)
        request = fit(messages, self._bytes - tools) if self._bytes else messages
        args = (model_settings, parameters, run_context)
        async with AsyncExitStack() as open_:
            try:
                stream = await open_.enter_async_context(super().request_stream(request, *args))
            except ai.ModelContextWindowExceededError:
                half = fit(request, (size(request) + tools) // 2 - tools)
                if size(half) >= size(request):  # it cannot be shortened
                    raise
                logger.warning("the conversation is too long for the model: half of it is sent")
                stream = await open_.enter_async_context(super().request_stream(half, *args))
            yield stream


def fit(messages: Sequence[ai.ModelMessage], bytes_max: int) -> list[ai.ModelMessage]:
    """The messages in that many bytes, as far as shortening goes.

    Results of tools are shortened first, then what the user said before; then whole messages are
    left out, oldest first, in favour of their first lines. The last message of the user and what
    followed it are shortened only when that is not enough, and by no more than is needed.
    """
    history = list(messages)
    last = _last_prompt(history)
    history = _each(history, range(last), _tool, bytes_max)
    history = _each(history, range(last), _prompt, bytes_max)
    history = _without_oldest(history, bytes_max)
    last, end = _last_prompt(history), len(history)
    history = _each(history, range(last, end - 1), _tool, bytes_max)
    history = _each(history, range(last, end), _prompt, bytes_max, by_need=True)
    return _each(history, range(end - 1, end), _tool, bytes_max, by_need=True)


def size(messages: Sequence[ai.ModelMessage]) -> int:
    """The bytes of what the model reads of them: of all instructions, the last ones."""
    newest_first = (getattr(message, "instructions", None) for message in reversed(messages))
    instructions = next(filter(None, newest_first), "")
    return len(instructions.encode()) + sum(
        _part_size(part) for message in messages for part in message.parts
    )


def tools_size(parameters: ModelRequestParameters) -> int:
    """The bytes of the tools that a model may call."""
    tools = [*parameters.function_tools, *parameters.output_tools]
    return sum(len(to_json([t.name, t.description, t.parameters_json_schema])) for t in tools)


def _each(
    messages: list[ai.ModelMessage],
    places: range,
    shorten: Shortening,
    bytes_max: int,
    *,
    by_need: bool = False,
) -> list[ai.ModelMessage]:
    """The parts of those messages shortened, one after the other, until all fit; ``by_need``: the
    last one by no more than that takes."""
    history = list(messages)
    over = size(history) - bytes_max
    for place in places:
        if over <= 0:
            break
        parts = list(history[place].parts)
        for n, part in enumerate(parts):
            if over > 0:
                parts[n] = shorten(part, over if by_need else None)
                over -= _part_size(part) - _part_size(parts[n])
        message: Any = history[place]
        history[place] = dataclasses.replace(message, parts=parts)
    return history


def _without_oldest(messages: list[ai.ModelMessage], bytes_max: int) -> list[ai.ModelMessage]:
    starts = _prompts(messages)
    out = 0
    while out < len(starts) - 1 and size(messages[starts[out] :]) > bytes_max:
        out += 1
    if not out:
        return messages
    lines = "\n".join(f"- {_first_line(messages[n])}" for n in starts[:out][-SAID_LINES:])
    note = (
        f"[The beginning of this conversation is left out: {out} of the user's messages,"
        f" and their answers. The last of these messages began:\n{lines}]"
    )
    return [ai.ModelRequest(parts=[ai.UserPromptPart(note)]), *messages[starts[out] :]]


def _prompts(messages: Sequence[ai.ModelMessage]) -> list[int]:
    """Where the user says something."""
    return [place for place, message in enumerate(messages) if is_prompt(message)]


def _last_prompt(messages: Sequence[ai.ModelMessage]) -> int:
    return max(_prompts(messages), default=0)


def _first_line(message: ai.ModelMessage) -> str:
    (part, *_) = [part for part in message.parts if isinstance(part, ai.UserPromptPart)]
    text = part.content if isinstance(part.content, str) else ""
    return text.strip().partition("\n")[0][:SAID_CHARACTERS]


def _room(text: str, over: int | None, least: int) -> int:
    """How many characters are left of a text."""
    return least if over is None else max(len(text) - over - _NOTE_CHARACTERS, least)


def _tool(part: Any, over: int | None) -> Any:
    """A result of a tool, or a call of one, shortened."""
    if isinstance(part, ai.ToolReturnPart):
        text = part.model_response_str(wrap_if_error=False)
        short = cut(text, _room(text, over, RESULT_CHARACTERS))
        return part if short is text else dataclasses.replace(part, content=short)
    if isinstance(part, ai.ToolCallPart) and _part_size(part) > RESULT_CHARACTERS:
        args = {name: _short_value(value) for name, value in part.args_as_dict().items()}
        return dataclasses.replace(part, args=args)
    return part


def _short_value(value: Any) -> Any:
    text = value if isinstance(value, str) else to_json(value).decode()
    return cut(text, RESULT_CHARACTERS) if len(text) > RESULT_CHARACTERS else value


def _prompt(part: Any, over: int | None) -> Any:
    """What the user said, shortened."""
    if isinstance(part, ai.UserPromptPart) and isinstance(part.content, str):
        room = _room(part.content, over, PROMPT_CHARACTERS)
        return dataclasses.replace(part, content=cut(part.content, room))
    return part


def cut(text: str, characters: int) -> str:
    """So much of a text, with a note of what is left out."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]}\n[{len(text) - characters} characters are left out]"


def _part_size(part: Any) -> int:
    if isinstance(part, ai.ToolCallPart):
        return len(part.tool_name) + len(part.args_as_json_str().encode())
    if isinstance(part, ai.ToolReturnPart):
        return len(part.model_response_str().encode())
    content = getattr(part, "content", "")
    return len(content.encode() if isinstance(content, str) else to_json(content, fallback=str))
