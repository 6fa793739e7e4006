"""A film before it is drawn: scenes with their captions and times, as plain data."""

from __future__ import annotations

import re

import msgspec

from agentpost_offline.making import fit

RATE = 25
"""Pictures a second."""
STRIP = 96
"""Height of the captions' own strip, of 720."""
_SHORTEST, _LONGEST = 1.2, 12.0
_WORDS_A_SECOND = 2.7
_CHARACTERS_A_SECOND = 15.0
_TWO_LINES = 118.0
"""What fits the strip, in ems of text."""


_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")


class Caption(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text and how long it stands."""

    text: str
    seconds: float


class Scene(msgspec.Struct, frozen=True, omit_defaults=True):
    """A slide with its captions."""

    picture: int
    captions: tuple[Caption, ...]

    @property
    def seconds(self) -> float:
        """How long it is shown."""
        return sum(one.seconds for one in self.captions)


class Runner(msgspec.Struct, frozen=True):
    """One bar of a race: its value in each period."""

    name: str
    values: tuple[float, ...]


class Race(msgspec.Struct, frozen=True, omit_defaults=True):
    """An animated ranking."""

    title: str
    subtitle: str
    source: str
    periods: tuple[str, ...]
    runners: tuple[Runner, ...]
    unit: str | None = None
    language: str = "en"
    summed: bool = False
    """Values are added up from the first period on."""


class Film(msgspec.Struct, frozen=True, omit_defaults=True):
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
    remarks: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Seconds in all."""
        return self.seconds or sum(scene.seconds for scene in self.scenes)


def captions(text: str) -> tuple[Caption, ...]:
    """A text in parts that fit the strip, each long enough to be read."""
    parts: list[str] = []
    for sentence in _SENTENCE.split(text):
        if parts and fit.width(f"{parts[-1]} {sentence}", 1) <= _TWO_LINES * 0.5:
            parts[-1] = f"{parts[-1]} {sentence}"
        else:
            parts += _broken(sentence)
    return tuple(Caption(part, _reading(part)) for part in parts)


def _broken(sentence: str) -> list[str]:
    """A sentence too long for the strip, in parts of about one length."""
    wide = fit.width(sentence, 1)
    if wide <= _TWO_LINES:
        return [sentence]
    words = sentence.split(" ")
    if len(words) == 1:
        half = len(sentence) // 2
        return _broken(sentence[:half]) + _broken(sentence[half:])
    half = len(words) // 2
    return _broken(" ".join(words[:half])) + _broken(" ".join(words[half:]))


def _reading(text: str) -> float:
    needed = max(len(text.split()) / _WORDS_A_SECOND, len(text) / _CHARACTERS_A_SECOND) + 1.2
    return min(_LONGEST, max(2.5, needed))


def lasting(scenes: tuple[Scene, ...], seconds: float | None) -> tuple[Scene, ...]:
    """The scenes, made shorter or longer so that together they last as long as was asked."""
    whole = sum(scene.seconds for scene in scenes)
    if not seconds or not whole:
        return scenes
    factor = max(seconds / whole, _SHORTEST * sum(len(s.captions) for s in scenes) / whole)
    return tuple(
        Scene(s.picture, tuple(Caption(c.text, c.seconds * factor) for c in s.captions))
        for s in scenes
    )


def subtitles(film: Film) -> str:
    """The captions as SubRip text; empty for a film without."""
    lines: list[str] = []
    at, number = 0.0, 0
    for scene in film.scenes:
        for caption in scene.captions:
            end = at + caption.seconds
            if caption.text:
                number += 1
                lines.append(f"{number}\n{_clock(at)} --> {_clock(end)}\n{caption.text}\n")
            at = end
    return "\n".join(lines)


def _clock(seconds: float) -> str:
    whole = round(seconds * 1000)
    hours, rest = divmod(whole, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02},{rest % 1000:03}"
