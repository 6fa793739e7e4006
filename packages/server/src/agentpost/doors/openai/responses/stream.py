"""The events of a response's stream, with their numbers.

The numbers follow from the outputs alone: each output has the events that open it, one for each
piece of its text (`doors.writing.piece_end`) and those that close it. So text that is sent while it
is written has the numbers that it has later, and a stream that was cut off continues with them on
any node.

Only the text of the output that comes next for certain is sent while it is written; of several jobs
at once that is the last one. When the agent takes a text back, or something else comes in its
place, no further piece of it is sent, and the events that close the output have what is true.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from agentpost.contract.shape import Links
from agentpost.domain.errors import Refusal
from agentpost.doors.openai.errors import code_of
from agentpost.doors.openai.responses import shapes
from agentpost.doors.openai.responses.shapes import Echo, Json
from agentpost.doors.openai.states import TERMINAL
from agentpost.doors.outputs import Output, next_source, outputs_of
from agentpost.doors.writing import Text, Texts, piece_end, read
from agentpost.following.followers import Moment


@dataclass(slots=True)
class _Begun:
    """An output whose text is sent while it is written. ``known_from``: where the part begins of
    what was sent that is known here; the client of a stream that is continued may have more."""

    source: str
    attempt: int
    known_from: int
    pieces: int = 0
    end: int = 0
    text: str = ""


class ResponseStream:
    """The events behind number ``after``, moment by moment."""

    def __init__(self, links: Links, echo: Echo, after: int) -> None:
        self._links = links
        self._echo = echo
        self._after = after
        self._texts = Texts()
        self._number = 0
        self._shown = 0
        self._begun: _Begun | None = None
        self.headers: dict[str, str] = {}

    def events(self, moment: Moment) -> Iterator[Json]:
        """What is new in a moment."""
        for piece in moment.texts:
            self._texts.add(read(piece))
        if self._number == 0:
            yield from self._number_events(shapes.opening(moment, self._echo))
        if not moment.texts:
            for output in outputs_of(moment.snapshot, self._links)[self._shown :]:
                yield from self._output(output)
        is_json = moment.snapshot.message.response_schema_json is not None
        source = None if is_json else next_source(moment.snapshot)
        text = self._texts.of(source) if source is not None else None
        if source is not None and text is not None:
            yield from self._text_events(source, text)

    def frames(self, moment: Moment) -> Iterator[str]:
        """See `doors.openai.streams.Frames`."""
        return map(_frame, self.events(moment))

    def last(self, moment: Moment) -> Iterator[str]:
        """The end of the stream, with the response as it is. One that has not ended gets no number
        of its own: a later event will have it."""
        fields = shapes.response(moment, self._links, self._echo)
        is_ended = fields["status"] in TERMINAL
        if is_ended and self._begun is not None:
            item, self._begun = self._begun, None
            left = shapes.item_left(item.source, self._shown, item.text)
            yield from map(_frame, self._number_events(left))
        number = self._number if is_ended else max(self._number - 1, 0)
        yield _frame({**shapes.closing(fields), "sequence_number": number})

    def refusal_frame(self, refusal: Refusal) -> str:
        """See `doors.openai.streams.Frames`."""
        error = {"type": "error", "code": code_of(refusal), "message": refusal.message}
        return _frame({**error, "param": None, "sequence_number": 0})

    def _output(self, output: Output) -> Iterator[Json]:
        item, self._begun = self._begun, None
        if item is None:
            events = shapes.item_begun(output.id, self._shown)
            deltas = shapes.text_deltas(output, self._shown)
            yield from self._number_events([*events, *deltas])
        else:
            output = replace(output, id=item.source)  # as the item was opened
            deltas = shapes.text_deltas(output, self._shown)
            sent_text = output.shown[: item.end]
            is_same = len(sent_text) == item.end and sent_text[item.known_from :] == item.text
            if is_same:
                yield from self._number_events(deltas[item.pieces :])
            else:
                self._number = max(self._number, self._number - item.pieces + len(deltas))
        yield from self._number_events(shapes.item_ended(output, self._shown))
        self._shown += 1

    def _text_events(self, source: str, text: Text) -> Iterator[Json]:
        """The pieces that are complete; the one that the text ends in waits for its rest."""
        item = self._begun
        if item is None:
            if text.end < piece_end(0):
                return
            item = self._begun = _Begun(source, text.attempt, text.start)
            yield from self._number_events(shapes.item_begun(source, self._shown))
        if (item.source, item.attempt) != (source, text.attempt):
            return
        while (end := piece_end(item.end)) <= text.end:
            if self._number > self._after and item.end < text.start:
                return  # the client lacks what nobody here has seen; it comes with the output
            piece = text.between(item.end, end)
            text_shown = piece if item.end else shapes.with_separator(piece, self._shown)
            yield from self._number_events([shapes.text_delta(source, self._shown, text_shown)])
            item.pieces, item.end, item.text = item.pieces + 1, end, item.text + piece

    def _number_events(self, events: Iterable[Json]) -> Iterator[Json]:
        for event in events:
            number, self._number = self._number, self._number + 1
            if number > self._after:
                yield {**event, "sequence_number": number}


def _frame(event: Json) -> str:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n"
