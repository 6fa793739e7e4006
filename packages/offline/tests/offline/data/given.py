"""Files as a step gets them, and the rows of a shop."""

import csv
import io
import random
from pathlib import Path
from typing import Any

from agentpost.agents import File

HEADER = ("date", "country", "channel", "product", "units", "unit_price", "revenue", "returned")
Row = dict[str, Any]


def file(folder: Path, name: str, data: bytes | str) -> File:
    """A file of a message: its path has no suffix."""
    path = folder / f"blob{len(list(folder.iterdir()))}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return File(
        id=f"file_{path.name}", name=name, content_type="", kind="data", size=path.stat().st_size,
        revision='"1"', work_id="w", local_path=path,
    )  # fmt: skip


def shop(count: int = 400, seed: int = 7) -> list[Row]:
    """Sales of two years; some have no revenue, some no country."""
    chance = random.Random(seed)
    rows: list[Row] = []
    for at in range(count):
        units = chance.randint(1, 9)
        price = chance.choice([9.5, 12.0, 19.99, 49.0])
        year, month, day = chance.choice([2024, 2025]), chance.randint(1, 12), chance.randint(1, 28)
        rows.append(
            {
                "date": f"{year}-{month:02d}-{day:02d}",
                "country": chance.choice(["Spain", "France", "Italy", "Germany"])
                if at % 50
                else None,
                "channel": chance.choice(["online", "store"]),
                "product": chance.choice(["Chair", "Desk", "Lamp", "Sofa", "Shelf"]),
                "units": units,
                "unit_price": price,
                "revenue": round(units * price, 2) if at % 37 else None,
                "returned": chance.random() < 0.1,
            }
        )
    return rows


def as_csv(rows: list[Row]) -> str:
    """Rows as a CSV file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADER, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: str(v).lower() if isinstance(v, bool) else v for k, v in row.items()})
    return out.getvalue()
