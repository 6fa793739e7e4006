"""Inputs of the makers' tests: an orders table with its story, a plan, pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from PIL import Image

from agentpost.agents import File
from agentpost_offline.documents.model import Block, BlockKind, Document
from agentpost_offline.frame import Act, Frame, Style, Thing
from tests.agents.fakes import file

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


def plan() -> Document:
    """A document of five sections."""
    heads = {
        "Goals": ("Deliver within two days.", "Raise revenue by 15 %.", "Fewer complaints."),
        "Costs": ("The warehouse costs 240,000 euros a year. It opens in June.",),
        "Timetable": ("January: choose the place.", "March: decision.", "June: first delivery."),
        "Risks": ("Two suppliers make 80 % of our parts.", "The harbour may close in winter."),
        "Outlook": ("If the plan works, we repeat it in Poland.",),
    }
    blocks = [Block(BlockKind.PARAGRAPH, "We open a second warehouse within one year.")]
    for heading, points in heads.items():
        blocks.append(Block(BlockKind.HEADING, heading, 2))
        kind = BlockKind.ITEM if len(points) > 1 else BlockKind.PARAGRAPH
        blocks.extend(Block(kind, point) for point in points)
    table = (("Item", "Once"), ("Warehouse", "30,000"), ("Shop", "65,000"))
    blocks.append(Block(BlockKind.TABLE, rows=table))
    return Document("plan.md", "Expansion plan 2026", tuple(blocks))
