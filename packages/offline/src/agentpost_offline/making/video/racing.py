"""The frames of a race: bars that grow and overtake each other, with direct labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost_offline.making import fit
from agentpost_offline.making.video import lettering
from agentpost_offline.making.video.film import RATE, Film, Race
from agentpost_offline.style import fonts, numbers, palette

if TYPE_CHECKING:
    from PIL.Image import Image

_SHOWN = 8
_HOLD = 1.5
_EASING = 0.16
_PLAIN = ("zh", "ar")
"""Languages whose short scales need shaping: their running numbers are written out."""


def frames(film: Film) -> Iterator[Image]:
    """Every frame."""
    assert film.race is not None
    return _Drawing(film, film.race).frames()


class _Drawing:
    def __init__(self, film: Film, race: Race) -> None:
        self.race = race
        self.wide, self.tall = film.size
        self.unit = min(film.size) / 720
        self.total = max(2, round(film.duration * RATE))
        self.colours = palette.series(len(race.runners), palette.accent(film.accent))
        self.head = round(112 * self.unit)
        self.foot = round(96 * self.unit)
        self.count = min(_SHOWN, len(race.runners))
        self.slot = (self.tall - self.head - self.foot) / self.count
        size = min(26 * self.unit, self.slot * 0.42)
        widest = max(fit.width(runner.name, size, True) for runner in race.runners)
        self.left = round(min(self.wide * 0.3, widest * 1.04) + 40 * self.unit)
        self.size = size
        peak = max(value for runner in race.runners for value in runner.values)
        code = "en" if race.language in _PLAIN else race.language
        self.format = numbers.format_for([peak], race.unit, code)
        if race.language in _PLAIN or not self.format.suffix:
            self.format = numbers.NumberFormat(code, race.unit or "", digits=0)
            if peak < 100:
                self.format = numbers.format_for([peak / 7, peak], race.unit, code)
        self.room = self.wide - self.left - self._value_room(peak) - round(40 * self.unit)

    def _value_room(self, peak: float) -> float:
        return fit.width(self.format.text(peak), self.size, True) * 1.15 + 14 * self.unit

    def frames(self) -> Iterator[Image]:
        letters = lettering.pictures(self._letters(), self.race.language)
        back = lettering.opened(letters[0]).convert("RGB")
        self._head(back, letters[1:4])
        names = [lettering.opened(one) for one in letters[4 : 4 + len(self.race.runners)]]
        stamps = letters[4 + len(self.race.runners) :]
        places: list[float] | None = None
        stamp: tuple[int, Image] | None = None
        animated = max(1, self.total - round(_HOLD * RATE))
        steps = len(self.race.periods) - 1
        for number in range(self.total):
            at = min(1.0, number / animated) * steps
            values = [_between(runner.values, at) for runner in self.race.runners]
            order = sorted(range(len(values)), key=lambda n: (-values[n], n))
            ranks = [0.0] * len(values)
            for rank, runner in enumerate(order):
                ranks[runner] = float(rank)
            if places is None:
                places = ranks
            places = [p + (r - p) * _EASING for p, r in zip(places, ranks, strict=True)]
            period = min(steps, round(at))
            if stamp is None or stamp[0] != period:
                stamp = period, lettering.opened(stamps[period])
            yield self._frame(back, names, stamp[1], values, places, at / max(1, steps))

    def _letters(self) -> list[lettering.Letters]:
        race, u = self.race, self.unit
        margin = round(40 * u)
        room = self.wide - 2 * margin
        title = fit.largest([race.title], (room, 44 * u), (12, 34 * u), bold=True)
        under = fit.largest([race.subtitle], (room, 26 * u), (9, 18 * u))
        names = [
            lettering.Letters(r.name, self.left - round(14 * u), round(self.size * 1.7),
                              min(self.size, self._name_size(r.name)), palette.INK, 600, "right")
            for r in race.runners
        ]  # fmt: skip
        stamps = [
            lettering.Letters(period, round(self.wide * 0.5), round(72 * u), 46 * u, palette.SOFT,
                              700, "right")
            for period in race.periods
        ]  # fmt: skip
        return [
            lettering.Letters("", self.wide, self.tall, 10, back=palette.PAPER),
            lettering.Letters(race.title, room, round(48 * u), title, palette.INK, 700),
            lettering.Letters(race.subtitle, room, round(28 * u), under, palette.SOFT),
            lettering.Letters(race.source, round(room * 0.5), round(24 * u), 14 * u, palette.SOFT),
            *names,
            *stamps,
        ]

    def _name_size(self, name: str) -> float:
        room = self.left - 18 * self.unit
        return self.size * min(1.0, room / max(1.0, fit.width(name, self.size, True)))

    def _head(self, back: Image, letters: list[bytes]) -> None:
        from PIL import ImageDraw

        u = self.unit
        margin = round(40 * u)
        draw = ImageDraw.Draw(back)
        draw.rectangle((margin, 22 * u, margin + 36 * u, 26 * u), fill=palette.accent(None))
        tops = (32 * u, 76 * u, self.tall - 52 * u)
        for content, top in zip(letters, tops, strict=True):
            picture = lettering.opened(content)
            back.paste(picture, (margin, round(top)), picture)

    def _frame(
        self,
        back: Image,
        names: list[Image],
        stamp: Image,
        values: list[float],
        places: list[float],
        done: float,
    ) -> Image:
        from PIL import ImageDraw

        u = self.unit
        frame = back.copy()
        draw = ImageDraw.Draw(frame)
        peak = max(values) or 1.0
        bottom = self.tall - self.foot
        thick = self.slot * 0.72
        for at in sorted(range(len(values)), key=lambda n: -places[n]):
            top = self.head + places[at] * self.slot + (self.slot - thick) / 2
            if top > bottom - thick * 0.4:
                continue
            end = self.left + max(2.0, values[at] / peak * self.room)
            box = (self.left, top, end, min(top + thick, bottom))
            draw.rounded_rectangle(box, radius=3 * u, fill=self.colours[at])
            middle = top + thick / 2
            if middle > bottom - 4 * u:
                continue
            name = names[at]
            frame.paste(name, (0, round(middle - name.height / 2)), name)
            draw.text((end + 10 * u, middle), self.format.text(values[at]), anchor="lm",
                      font=_font(round(self.size)), fill=palette.INK)  # fmt: skip
        draw.rectangle((0, bottom, self.wide, self.tall), fill=palette.PAPER)
        frame.paste(back.crop((0, bottom, self.wide, self.tall)), (0, bottom))
        margin = round(40 * u)
        line = bottom + round(12 * u)
        draw.rectangle((margin, line, self.wide - margin, line + 2 * u), fill=palette.HAIR)
        wide = (self.wide - 2 * margin) * done
        draw.rectangle((margin, line, margin + wide, line + 2 * u), fill=palette.accent(None))
        place = (self.wide - margin - stamp.width, self.tall - stamp.height - round(6 * u))
        frame.paste(stamp, place, stamp)
        return frame


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    for folder in fonts.faces("").folders:
        for path in sorted(Path(folder).glob("Inter*.ttf")):
            if "Italic" not in path.name:
                font = ImageFont.truetype(str(path), size)
                font.set_variation_by_axes([14, 600])
                return font
    return ImageFont.load_default(size)


def _between(values: tuple[float, ...], at: float) -> float:
    """The value between two periods."""
    first = min(len(values) - 1, int(at))
    second = min(len(values) - 1, first + 1)
    return values[first] + (values[second] - values[first]) * (at - first)
