"""The completion, and the chunks of its stream, made of what a message has parts."""

from typing import Final

import msgspec

from agentpost.contract.shape import Links
from agentpost.domain import ids
from agentpost.domain.times import SECOND
from agentpost.doors.openai.parameters import OWN_MODEL
from agentpost.doors.openai.responses.shapes import BETWEEN, Echo, Json, with_separator
from agentpost.doors.openai.states import incomplete_of, is_over
from agentpost.doors.outputs import Output, explanation_of, outputs_of
from agentpost.following.followers import Moment
from agentpost.messages.rules import MessageStatus
from agentpost.messages.shapes import FileShape, MessageShape
from agentpost.record.records import Snapshot

GOES_ON: Final = "*The work goes on. Write again in this chat to hear how it ends.*"
"""The end of an answer whose call was held for as long as one is."""


def completion(moment: Moment, links: Links, echo: Echo) -> Json:
    """The completion of a message. ``agentpost`` is the message as the API itself shows it."""
    texts = texts_of(moment.snapshot, links)
    if not is_over(moment):
        texts.append(with_separator(waiting_text(moment), len(texts)))
    message = {"role": "assistant", "content": "".join(texts), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None}
    return {
        **_head(moment, "chat.completion"),
        "choices": [{**choice, "finish_reason": _finish_reason(moment)}],
        "usage": _usage(moment.snapshot, links),
        "agentpost": _show(moment, links, echo),
    }


def chunk(moment: Moment, echo: Echo, delta: Json) -> Json:
    """A chunk that has a piece of the answer."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    usage = {"usage": None} if echo.include_usage else {}
    return {**_head(moment, "chat.completion.chunk"), "choices": [choice], **usage}


def last_chunks(moment: Moment, links: Links, echo: Echo) -> list[Json]:
    """The chunks that end a stream: why it ends, then the usage when it was asked for."""
    last = chunk(moment, echo, {})
    last["choices"][0]["finish_reason"] = _finish_reason(moment)
    last["agentpost"] = _show(moment, links, echo)
    if not echo.include_usage:
        return [last]
    return [last, {**last, "choices": [], "usage": _usage(moment.snapshot, links)}]


def _head(moment: Moment, kind: str) -> Json:
    message = moment.snapshot.message
    return {
        "id": f"chatcmpl-{message.id.removeprefix(ids.MESSAGE)}",
        "object": kind,
        "created": message.created_at // SECOND,
        "model": OWN_MODEL,
    }


def _finish_reason(moment: Moment) -> str:
    """``length`` tells a program that this is not all of the answer."""
    is_cut_short = incomplete_of(moment.snapshot) == {"reason": "max_output_tokens"}
    return "stop" if is_over(moment) and not is_cut_short else "length"


def _usage(snapshot: Snapshot, links: Links) -> Json:
    """Tokens are not counted, see the Responses API."""
    counts = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
    return {**counts, "credits_used": MessageShape.of(snapshot, links).credits_used}


def _show(moment: Moment, links: Links, echo: Echo) -> Json:
    shape = msgspec.to_builtins(MessageShape.of(moment.snapshot, links))
    return {**shape, "conversation": moment.conversation, "ignored": list(echo.ignored)}


# --- the answer's text ----------------------------------------------------------------------------
def texts_of(snapshot: Snapshot, links: Links) -> list[str]:
    """What the answer consists of: the outputs with links to their files, then what a person has to
    know. When JSON was asked for, nothing but that."""
    parts = outputs_of(snapshot, links)
    if snapshot.message.response_schema_json is not None:
        return [output.text for output in parts]
    texts = [
        f"{with_separator(output.text, n)}{file_links(output, n)}" for n, output in enumerate(parts)
    ]
    return [*texts, *(with_separator(text, len(texts)) for text in notes_of(snapshot, links))]


def file_links(output: Output, index: int) -> str:
    """The files of an output in Markdown, which goes behind its text."""
    lines = BETWEEN.join(map(_file_link, output.files))
    return with_separator(lines, index or int(bool(output.text)))


def _file_link(file: FileShape) -> str:
    name = file.name.replace("[", "(").replace("]", ")")
    is_picture = file.content_type.startswith("image/")
    return f"{'!' if is_picture else ''}[{name}]({file.url})"


def notes_of(snapshot: Snapshot, links: Links) -> list[str]:
    """What stands behind the outputs of a message that is final: what went wrong, what became of
    the files that were sent, what the question may be answered with."""
    message = snapshot.message
    if not message.final:
        return []
    shape = MessageShape.of(snapshot, links)
    texts = [f"*Note: {note}*" for note in shape.notes]
    if message.status is MessageStatus.PARTIAL:
        texts.append(explanation_of(snapshot, message.reason))
    form = shape.answer_format
    if form is not msgspec.UNSET and form is not None and form.choices:
        texts.append("\n".join(f"- {choice}" for choice in form.choices))
    return texts


def waiting_text(moment: Moment) -> str:
    """What the answer ends with when the work has not ended; nothing where JSON was asked for."""
    if moment.snapshot.message.response_schema_json is not None:
        return ""
    reason = moment.snapshot.message.reason
    return explanation_of(moment.snapshot, reason) if moment.waits_for_credits else GOES_ON
