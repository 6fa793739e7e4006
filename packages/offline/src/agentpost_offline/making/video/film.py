"""A film before it is drawn: scenes with their captions and times, as plain data."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentpost_offline.content.blocks import Paper
from agentpost_offline.making import fit

RATE = 25
"""Pictures a second."""
MOST_BARS = 10
"""So many bars race at a time, the largest."""
_SHORTEST, _LONGEST = 1.2, 12.0
_WORDS_A_SECOND = 2.7
_CHARACTERS_A_SECOND = 15.0
_TWO_LINES = 118.0
"""What fits the strip, in ems of text."""
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")


class Scene(Struct, frozen=True, omit_defaults=True):
    """A slide with a caption, and how long both stand."""

    picture: int
    text: str
    seconds: float


class Runner(Struct, frozen=True):
    """One bar of a race: its value in each period."""

    name: str
    values: tuple[float, ...]


class Race(Struct, frozen=True, omit_defaults=True):
    """An animated ranking."""

    title: str
    subtitle: str
    source: str
    periods: tuple[str, ...]
    runners: tuple[Runner, ...]
    unit: str | None = None
    bars: int = MOST_BARS
    """How many of them are shown at a time, the largest."""


class Film(Struct, frozen=True, omit_defaults=True):
    """A whole film."""

    title: str
    size: tuple[int, int] = (1280, 720)
    scenes: tuple[Scene, ...] = ()
    race: Race | None = None
    seconds: float = 0.0
    """Of a race; the others' follow from their scenes."""
    language: str = "en"
    accent: str | None = None
    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    paper: Paper | None = None
    """Whose slides are shown, where nothing races."""
    images: Sequence[bytes] = ()
    """The pictures on them."""

    @property
    def duration(self) -> float:
        """Seconds in all."""
        return self.seconds or sum(scene.seconds for scene in self.scenes)


def scenes_of(picture: int, text: str) -> list[Scene]:
    """A slide with a text in parts that fit the strip, each long enough to be read."""
    parts: list[str] = []
    for sentence in _SENTENCE.split(text):
        if parts and fit.width(f"{parts[-1]} {sentence}", 1) <= _TWO_LINES * 0.5:
            parts[-1] = f"{parts[-1]} {sentence}"
        else:
            parts += fit.pieces(sentence, lambda text: fit.width(text, 1) <= _TWO_LINES)
    times = [max(len(part.split()) / _WORDS_A_SECOND, len(part) / _CHARACTERS_A_SECOND) + 1.2
             for part in parts]  # fmt: skip
    return [Scene(picture, part, min(_LONGEST, max(2.5, time)))
            for part, time in zip(parts, times, strict=True)]  # fmt: skip


def with_duration(scenes: Sequence[Scene], seconds: float | None) -> tuple[Scene, ...]:
    """The scenes, made shorter or longer so that together they last as long as was asked."""
    whole = sum(scene.seconds for scene in scenes)
    factor = max(seconds, _SHORTEST * len(scenes)) / whole if seconds and whole else 1.0
    return tuple(replace(scene, seconds=scene.seconds * factor) for scene in scenes)
