"""The frames of a race: bars that grow and overtake each other, with direct labels. Who writes a
film imports this module with its library."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from agentpost_offline.making import fit
from agentpost_offline.making.video.film import RATE, Film, Race
from agentpost_offline.style import fonts, numbers, palette
from agentpost_offline.style.typeset import typeset

_TEMPLATE = Path(__file__).with_name("lettering.typ")
_HOLD = 1.5
_EASING = 0.16
_PLAIN = ("zh", "ar")
"""Languages whose short scales need shaping: their running numbers are written out."""


def _letters(
    text: str, box: tuple[int, int], size: float, colour: str = palette.SOFT, weight: int = 400,
    align: str = "left",
) -> dict[str, Any]:  # fmt: skip
    """One text as the template takes it: its box in pixels, its type size, its colour."""
    return {"text": text, "width": box[0], "height": box[1], "size": size, "colour": colour,
            "weight": weight, "align": align}  # fmt: skip


def _typeset(items: Sequence[dict[str, Any]], code: str) -> Iterator[Image.Image]:
    """A picture with transparency for each text, typeset once for any script."""
    for page in typeset((_TEMPLATE,), {"items": items}, form="png", code=code, ppi=72):
        with Image.open(io.BytesIO(page)) as image:
            yield image.convert("RGBA")


class Drawing:
    """Draws a race."""

    def __init__(self, film: Film, race: Race) -> None:
        self.race, self.code = race, film.language
        self.wide, self.tall = film.size
        self.unit = unit = min(film.size) / 720
        self.total = max(2, round(film.duration * RATE))
        self.colours = palette.series(len(race.runners), palette.accent(film.accent))
        self.head, self.foot, self.margin = (round(n * unit) for n in (112, 96, 40))
        self.slot = (self.tall - self.head - self.foot) / min(race.bars, len(race.runners))
        self.size = min(26 * unit, self.slot * 0.42)
        widest = max(fit.width(runner.name, self.size, True) for runner in race.runners)
        self.left = round(min(self.wide * 0.3, widest * 1.04) + 40 * unit)
        peak = max(value for runner in race.runners for value in runner.values)
        self.format = numbers.format_for([peak], race.unit, self.code)
        if self.code in _PLAIN or not self.format.suffix:
            code = "en" if self.code in _PLAIN else self.code
            self.format = (
                numbers.format_for([peak / 7, peak], race.unit, code) if peak < 100
                else numbers.NumberFormat(code, race.unit or "", digits=0)
            )  # fmt: skip
        value = fit.width(self.format.text(peak), self.size, True) * 1.15 + 14 * unit
        self.room = self.wide - self.left - value - self.margin
        self.font = _font(round(self.size), self.format.text(peak))

    def frames(self) -> Iterator[Image.Image]:
        """Every frame."""
        race = self.race
        letters = list(_typeset(self._texts(), self.code))
        back = Image.new("RGB", (self.wide, self.tall), palette.PAPER)
        self._head(back, letters[:3])
        names, stamps = letters[3 : 3 + len(race.runners)], letters[3 + len(race.runners) :]
        race_frames = max(1, self.total - round(_HOLD * RATE))
        steps = len(race.periods) - 1
        places: list[float] = []
        for number in range(self.total):
            at = min(1.0, number / race_frames) * steps
            values = [_between(runner.values, at) for runner in race.runners]
            order = sorted(range(len(values)), key=lambda n: (-values[n], n))
            ranks = [float(order.index(n)) for n in range(len(values))]
            places = [p + (r - p) * _EASING for p, r in zip(places or ranks, ranks, strict=True)]
            stamp = stamps[min(steps, round(at))]
            yield self._frame(back, names, stamp, values, places, at / max(1, steps))

    def _texts(self) -> list[dict[str, Any]]:
        """The title, the line below it, the source; names; periods."""
        race, u = self.race, self.unit
        room, wide = self.wide - 2 * self.margin, self.left - round(14 * u)
        title = fit.largest([race.title], (room, 44 * u), (12, 34 * u), bold=True)
        under = fit.largest([race.subtitle], (room, 26 * u), (9, 18 * u))

        def size(name: str) -> float:
            share = (self.left - 18 * u) / max(1.0, fit.width(name, self.size, True))
            return self.size * min(1.0, share)

        return [
            _letters(race.title, (room, round(48 * u)), title, palette.INK, 700),
            _letters(race.subtitle, (room, round(28 * u)), under),
            _letters(race.source, (round(room * 0.5), round(24 * u)), 14 * u),
            *(_letters(one.name, (wide, round(self.size * 1.7)), size(one.name), palette.INK, 600,
                       "right") for one in race.runners),
            *(_letters(period, (round(self.wide * 0.5), round(72 * u)), 46 * u, weight=700,
                       align="right") for period in race.periods),
        ]  # fmt: skip

    def _head(self, back: Image.Image, letters: Sequence[Image.Image]) -> None:
        u, margin = self.unit, self.margin
        accent = palette.accent(None)
        ImageDraw.Draw(back).rectangle((margin, 22 * u, margin + 36 * u, 26 * u), fill=accent)
        for picture, top in zip(letters, (32 * u, 76 * u, self.tall - 52 * u), strict=True):
            back.paste(picture, (margin, round(top)), picture)

    def _frame(
        self, back: Image.Image, names: Sequence[Image.Image], stamp: Image.Image,
        values: Sequence[float], places: Sequence[float], share: float,
    ) -> Image.Image:  # fmt: skip
        u, bottom = self.unit, self.tall - self.foot
        frame = back.copy()
        draw = ImageDraw.Draw(frame)
        peak, thick = max(values) or 1.0, self.slot * 0.72
        for at in sorted(range(len(values)), key=lambda n: -places[n]):
            top = self.head + places[at] * self.slot + (self.slot - thick) / 2
            if top > bottom - thick * 0.4:
                continue
            end = self.left + max(2.0, values[at] / peak * self.room)
            box = (self.left, top, end, min(top + thick, bottom))
            draw.rounded_rectangle(box, radius=3 * u, fill=self.colours[at])
            middle = top + thick / 2
            if middle <= bottom - 4 * u:
                name = names[at]
                frame.paste(name, (0, round(middle - name.height / 2)), name)
                draw.text((end + 10 * u, middle), self.format.text(values[at]), anchor="lm",
                          font=self.font, fill=palette.INK)  # fmt: skip
        frame.paste(back.crop((0, bottom, self.wide, self.tall)), (0, bottom))
        line, right = bottom + round(12 * u), self.wide - self.margin
        reach = self.margin + (right - self.margin) * share
        for end, colour in ((right, palette.HAIR), (reach, palette.accent(None))):
            draw.rectangle((self.margin, line, end, line + 2 * u), fill=colour)
        place = (right - stamp.width, self.tall - stamp.height - round(6 * u))
        frame.paste(stamp, place, stamp)
        return frame


def _font(size: int, text: str) -> Any:
    """The font of the values, of which ``text`` is one: their unit may be a Han character."""
    path = fonts.file_with(text) or fonts.file_with("0")
    if path is None:
        return ImageFont.load_default(size)
    font = ImageFont.truetype(str(path), size)
    if path.name.startswith("Inter"):
        font.set_variation_by_axes([14, 600])
    return font


def _between(values: Sequence[float], at: float) -> float:
    """The value between two periods."""
    first = min(len(values) - 1, int(at))
    second = min(len(values) - 1, first + 1)
    return values[first] + (values[second] - values[first]) * (at - first)
