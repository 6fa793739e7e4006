"""The parameters of a call: which are taken, which have no effect here, and which are refused."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentpost.domain.limits import OBJECT_FIELDS_MAX, TRANSCRIPT_ITEMS_MAX
from agentpost.doors.openai.errors import NotInThisApi, wrong

OWN_MODEL: Final = "agentpost"
Rules = Mapping[str, tuple[Callable[[Any], bool], str]]
"""By the name of a parameter: whether a value is taken, else what to do instead."""

_NO_DIFFERENCE: Final = frozenset(
    {
        "background_options", "context_management", "include", "max_tool_calls",
        "parallel_tool_calls", "prediction", "prompt_cache_key", "prompt_cache_options",
        "prompt_cache_retention", "safety_identifier", "service_tier", "stream_options",
        "top_logprobs", "truncation", "user",
    }
)  # fmt: skip
"""They say how a model is run or billed; no answer means anything else without them."""
_IGNORED: Final = frozenset(
    {
        "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens",
        "max_output_tokens", "max_tokens", "presence_penalty", "reasoning", "reasoning_effort",
        "seed", "stop", "temperature", "top_p", "verbosity",
    }
)  # fmt: skip
"""They ask for another answer, and the agent decides that itself: the answer says so."""
_USUAL: Final[Mapping[str, object]] = {
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logprobs": False,
}


def is_empty(value: Any) -> bool:
    """Whether a parameter says nothing."""
    return value is None or value in ([], {}, "")


_NO_TOOLS: Final = (
    "the agent has tools of its own and calls none of the caller's: leave tools out, and put what"
    " they would find out into the input"
)
_REFUSED: Final[Rules] = {
    "tools": (is_empty, _NO_TOOLS),
    "functions": (is_empty, _NO_TOOLS),
    "tool_choice": (lambda value: value in (None, "auto", "none"), _NO_TOOLS),
    "function_call": (lambda value: value in (None, "auto", "none"), _NO_TOOLS),
    "prompt": (is_empty, "there are no stored prompts: send the text itself"),
    "moderation": (is_empty, "nothing is moderated: leave it out"),
}


def check(
    body: Mapping[str, Any],
    taken: frozenset[str],
    rules: Rules,
    *,
    unknown_are_ignored: bool = False,
) -> list[str]:
    """The names of the parameters that were ignored though they ask for another answer.

    ``taken`` are those that the API understands itself, ``rules`` those of which it takes some
    values only. Raises `NotInThisApi` for what cannot be kept, and for names that are not known,
    unless those are ignored as well.
    """
    if len(body) > OBJECT_FIELDS_MAX:
        raise NotInThisApi("unknown_parameter", "body", f"has over {OBJECT_FIELDS_MAX} parameters")
    keeps_store = body.get("store") is None or flag(body, "store")
    ignored_names = [] if keeps_store else ["store"]
    rules = {**_REFUSED, **rules}
    for name, value in body.items():
        takes, instead = rules.get(name, (None, ""))
        if name == "tools" and body.get("tool_choice") == "none":
            continue  # they are not to be called
        if takes is not None and not takes(value):
            raise NotInThisApi("unsupported_parameter", name, f"is not supported here: {instead}")
        if name in _IGNORED and not is_empty(value) and value != _USUAL.get(name):
            ignored_names.append(name)
        elif takes is None and name not in taken | _NO_DIFFERENCE | _IGNORED:
            if not unknown_are_ignored:
                raise NotInThisApi("unknown_parameter", name[:200], "is not known here")
            ignored_names.append(name[:200])
    return ignored_names


def check_model(body: Mapping[str, Any], models: Sequence[str]) -> None:
    """Raise `NotInThisApi` for another model than one of the names that the agent has."""
    model = body.get("model")
    if model is not None and model not in models:
        names = ", ".join(models)
        raise NotInThisApi("model_not_found", "model", f"there is no such model; use {names}")


def items_of(items: list[Any], where: str) -> list[Any]:
    """The items or messages of a call; raises ``invalid_request`` for too many of them, before
    anything is made of one."""
    if len(items) > TRANSCRIPT_ITEMS_MAX:
        raise wrong(where, f"has over {TRANSCRIPT_ITEMS_MAX:,} items; send the newest ones")
    return items


def scope_of(body: Mapping[str, Any]) -> list[object]:
    """What tells the callers of one API key apart (`transcripts.topic`)."""
    return [body.get(name) for name in ("user", "safety_identifier", "metadata")]


def conversation_of(body: Mapping[str, Any]) -> str | None:
    """The name of the conversation, which may be that of an object."""
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
        if conversation is None:
            raise wrong("conversation.id", "is missing")
    if conversation is not None and not isinstance(conversation, str):
        raise wrong("conversation", "must be a text, or an object with an id")
    return conversation


def metadata_of(body: Mapping[str, Any]) -> dict[str, str] | None:
    """The labels of the message, which are checked when it is sent."""
    value = body.get("metadata")
    if value is None or isinstance(value, dict):
        return value
    raise wrong("metadata", "must be an object")


def flag(body: Mapping[str, Any], name: str) -> bool:
    """A parameter that is true or false, and false when it is not there."""
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise wrong(name, "must be true or false")
