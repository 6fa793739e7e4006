"""The chunks of a completion's stream.

Its text is that of a response's stream, whose events decide what is shown when. A chunk cannot be
taken back: when the agent writes a text anew, the right one follows the wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from agentpost.contract.shape import Links
from agentpost.domain.errors import Refusal
from agentpost.doors.openai.chat import shapes
from agentpost.doors.openai.chat.shapes import Echo, Json
from agentpost.doors.openai.errors import code_of
from agentpost.doors.openai.responses import shapes as response_shapes
from agentpost.doors.openai.responses.stream import ResponseStream
from agentpost.doors.openai.states import error_of, is_over
from agentpost.doors.outputs import Output, outputs_of
from agentpost.following.followers import Moment
from agentpost.record.events import EntryType


class CompletionStream:
    """See `doors.openai.streams.Frames`."""

    def __init__(self, links: Links, echo: Echo) -> None:
        self._links = links
        self._echo = echo
        self._responses = ResponseStream(links, response_shapes.Echo(), -1)
        self._sent = ""
        self._item = ""  # what was sent of the output that is being shown
        self._has_begun = False
        self.conversation = ""
        """The name of the message's conversation, once there was a moment."""

    def frames(self, moment: Moment) -> Iterator[str]:
        """What is new in a moment: the steps of the work as reasoning, and text."""
        self.conversation = moment.conversation
        if not self._has_begun:
            self._has_begun = True
            yield self._chunk(moment, {"role": "assistant", "content": ""})
        for entry in moment.entries:
            step = json.loads(entry.body_json).get("step")
            if entry.type == EntryType.PROGRESS and step:
                yield self._chunk(moment, {"reasoning_content": f"{step}\n"})
        outputs = outputs_of(moment.snapshot, self._links)
        for event in self._responses.events(moment):
            yield from self._of_event(moment, outputs, event)

    def last(self, moment: Moment) -> Iterator[str]:
        """The end of the stream: the rest of the answer, or why there is none."""
        error = error_of(moment.snapshot, moment.cancelled)
        if error is not None:
            yield _frame({"error": error})
            return
        rest = [] if is_over(moment) else [shapes.waiting_text(moment)]
        if moment.snapshot.message.response_schema_json is None:
            rest = [*shapes.notes_of(moment.snapshot, self._links), *rest]
        for text in rest:
            if text:
                yield self._text(moment, f"{response_shapes.BETWEEN if self._sent else ''}{text}")
        for last in shapes.last_chunks(moment, self._links, self._echo):
            yield _frame(last)
        yield "data: [DONE]\n\n"

    def refusal_frame(self, refusal: Refusal) -> str:
        """A refusal in the middle of the stream."""
        error = {"message": refusal.message, "type": "invalid_request_error", "param": None}
        return _frame({"error": {**error, "code": code_of(refusal)}})

    def _of_event(self, moment: Moment, outputs: list[Output], event: Json) -> Iterator[str]:
        kind = event["type"].removeprefix("response.")
        index: int = event.get("output_index", 0)
        if kind == "output_item.added":
            self._item = ""
        elif kind == "output_text.delta":
            if index < len(outputs) and not outputs[index].text:
                return  # the names of its files, which come as links
            self._item += event["delta"]
            yield self._text(moment, event["delta"])
        elif kind == "output_item.done" and event["item"]["status"] == "completed":
            output = outputs[index]
            text = response_shapes.with_separator(output.text, index)
            if not text.startswith(self._item):
                yield self._text(moment, f"{response_shapes.BETWEEN}{output.text}")
            elif text != self._item:
                yield self._text(moment, text.removeprefix(self._item))
            links = shapes.file_links(output, index)
            if links and moment.snapshot.message.response_schema_json is None:
                yield self._text(moment, links)

    def _text(self, moment: Moment, text: str) -> str:
        self._sent += text
        return self._chunk(moment, {"content": text})

    def _chunk(self, moment: Moment, delta: Json) -> str:
        return _frame(shapes.chunk(moment, self._echo, delta))


def _frame(data: Json) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
