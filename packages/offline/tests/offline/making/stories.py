"""Inputs of the makers' tests: an orders table with its story, a plan, pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs
from PIL import Image

from agentpost.agents import File
from agentpost_offline.frame import Act, Frame, Style, Thing
from agentpost_offline.making.catalogue import MAKERS
from agentpost_offline.making.maker import Product
from tests.agents.fakes import FakeJob, file

_PRICES = {"Espresso Machine": 850.0, "Grinder": 185.0, "Beans 1kg": 24.9}
_REGIONS = ("East", "North", "West", "South")


def orders(folder: Path, rows: int = 240) -> File:
    """Two years of orders; the East grows."""
    lines = ["order,date,region,product,quantity,revenue"]
    for number in range(rows):
        day = date(2024, 1, 1) + timedelta(days=number * 730 // rows)
        region = _REGIONS[number % 4 if day.year == 2024 else number % 5 % 4]
        product = list(_PRICES)[number % 3]
        count = 1 + number % 4
        revenue = count * _PRICES[product]
        lines.append(f"SO-{number:04},{day},{region},{product},{count},{revenue:.2f}")
    path = folder / "orders.csv"
    path.write_text("\n".join(lines))
    return file(path, "text/csv")


def picture(
    folder: Path, name: str = "shop.png", size: tuple[int, int] = (640, 400), **saved: Any
) -> File:
    """A picture with a different colour in each corner."""
    image = Image.new("RGB", size, "#e8e0d0")
    wide, tall = size[0] // 4, size[1] // 4
    corners = {(0, 0): "red", (1, 0): "green", (0, 1): "blue", (1, 1): "black"}
    for (x, y), colour in corners.items():
        image.paste(colour, (x * 3 * wide, y * 3 * tall, x * 3 * wide + wide, y * 3 * tall + tall))
    buffer = io.BytesIO()
    forms = {"jpg": "JPEG", "webp": "WEBP", "gif": "GIF"}
    image.save(buffer, forms.get(name.rpartition(".")[2], "PNG"), **saved)
    path = folder / name
    path.write_bytes(buffer.getvalue())
    return file(path, "image/png")


def local(files: Sequence[File]) -> list[File]:
    """The files as a worker process sees them."""
    return [replace(one, local_path=Path(one.blob)) for one in files]


def frame(
    thing: Thing,
    files: Sequence[File] = (),
    *,
    style: Style | None = None,
    said: str = "",
    text: str = "",
    language: str = "en",
    formats: tuple[str, ...] = (),
) -> Frame:
    """What a clause asks for."""
    return Frame(
        Act.MAKE, thing, style=style or Style(), formats=formats, language=language,
        files=tuple(one.id for one in files), text=text, said=said,
    )  # fmt: skip


async def make(folder: Path, thing: Thing, files: Sequence[File], **wish: Any) -> Outcome:
    """What the maker of a thing gives back for a wish; what it writes is in the folder.

    ``wish``: as of `frame`, and ``queries``.
    """
    queries = wish.pop("queries", ())
    job = FakeJob(folder)
    request = structs.replace(frame(thing, files, **wish), queries=tuple(queries))
    product = await MAKERS[thing].make(job, request, files)
    assert job.charged == MAKERS[thing].credits
    return Outcome(product, job, folder)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A product with its job, and the folder of its files."""

    product: Product
    job: FakeJob
    folder: Path

    @property
    def main(self) -> Path:
        """The file to open first."""
        return self.folder / self.product.files[0].name
