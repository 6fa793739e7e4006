"""Artifacts as a stream tells them: in chunks while their text is written, else whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from a2a.types import a2a_pb2

from agentpost.contract.shape import Links
from agentpost.doors.a2a import tasks
from agentpost.doors.outputs import Output
from agentpost.doors.writing import Text, Texts, read
from agentpost.messages.chains import Chain


@dataclass(frozen=True, slots=True)
class _Sent:
    """How far the text of an artifact was sent, and which attempt at it."""

    attempt: int
    text: str


class ArtifactStream:
    """The artifacts of a task that its client does not have yet.

    Chunks are appended. When the agent takes a text back, or its output is another one, the
    artifact is replaced.
    """

    def __init__(self, chain: Chain, links: Links) -> None:
        self._links = links
        self._shown = {output.id for output in tasks.all_outputs(chain, links)}
        self._texts = Texts()
        self._sent: dict[str, _Sent] = {}

    def text_chunks(
        self, chain: Chain, texts: Sequence[str]
    ) -> Iterator[a2a_pb2.TaskArtifactUpdateEvent]:
        """The chunks of texts that are being written. What a job shows before the task has it
        comes with the moment that does."""
        for each in texts:
            self._texts.add(read(each))
        titles = {chain.last.message.id: ""}
        titles |= {link.job.id: link.job.title for link in chain.last.links}
        for source, title in titles.items():
            text = None if source in self._shown else self._texts.of(source)
            if text is not None and text.start == 0:
                yield from self._chunk(chain, Output(source, title, "", ()), text)

    def output_chunks(self, chain: Chain) -> Iterator[a2a_pb2.TaskArtifactUpdateEvent]:
        """The outputs that are there now: what is left of a text that was sent, or all of it."""
        for output in tasks.all_outputs(chain, self._links):
            if output.id in self._shown:
                continue
            self._shown.add(output.id)
            earlier = self._sent.pop(output.id, None)
            if earlier is not None and output.text.startswith(earlier.text):
                rest = replace(output, text=output.text[len(earlier.text) :])
                yield tasks.artifact_update(chain, rest, append=True, last=True)
            else:
                yield tasks.artifact_update(chain, output, append=False, last=True)

    def _chunk(
        self, chain: Chain, output: Output, text: Text
    ) -> Iterator[a2a_pb2.TaskArtifactUpdateEvent]:
        earlier = self._sent.get(output.id)
        goes_on = earlier is not None and earlier.attempt == text.attempt
        start = len(earlier.text) if earlier is not None and goes_on else 0
        if text.end > start:
            self._sent[output.id] = _Sent(text.attempt, text.known)
            chunk = replace(output, text=text.between(start, text.end))
            yield tasks.artifact_update(chain, chunk, append=goes_on, last=False)
