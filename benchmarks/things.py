"""What making each thing costs in processor time: the bars are for one quiet processor.

    PYTHONPATH=. python benchmarks/things.py [words of names]

Every request runs in a process of its own, from the message to the checked files, its turn
included; the table shows user and system seconds and the most memory that the process held.
"""

from __future__ import annotations

import asyncio
import random
import resource
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

THINGS = {
    "chart": ("Chart of revenue by month", 1.0),
    "report": ("Write a report", 2.0),
    "deck": ("Make a deck", 3.0),
    "site": ("Make a website", 3.0),
    "table": ("Pivot table of revenue by region and channel as Excel", None),
    "summary": ("Summarize this", None),
    "image": ("Make a social card", None),
    "video": ("Make a video of 40 seconds", 25.0),
}
"""Each thing's request, and its bar in seconds."""
FILES = {"600 rows": 600, "400,000 rows": 400_000}
_GROUPS = {
    "region": ("East", "North", "West", "South"),
    "channel": ("Online", "Shop", "Partner"),
    "product": ("Espresso Machine", "Grinder", "Beans 1kg", "Milk Frother", "Filter Set"),
}
_LARGEST = 100_000
"""Of more rows only what charts and documents need is measured."""
_FIRST_PICTURE = 5.0
"""The bar of a chart of the large file."""
_SMALL_ONLY = ("video", "table")


def orders(path: Path, rows: int) -> None:
    """A table of orders of two years; 400,000 rows are 21 MB."""
    dice = random.Random(1)
    with path.open("w") as file:
        file.write(f"order_id,date,{','.join(_GROUPS)},quantity,unit_price,revenue\n")
        for number in range(rows):
            day = date(2024, 1, 1) + timedelta(days=dice.randrange(731))
            groups = ",".join(dice.choice(values) for values in _GROUPS.values())
            count, price = dice.randint(1, 5), dice.choice((53, 110, 260, 580, 1400))
            revenue = count * price * dice.uniform(0.8, 1)
            file.write(f"{1000 + number},{day},{groups},{count},{price},{revenue:.2f}\n")


async def make(request: str, path: Path) -> None:
    """Run one request as the agent does."""
    from agentpost_offline.turn import agent
    from tests.agents.fakes import FakeJob, FakeTurn, file, utterance

    turn = FakeTurn(utterance(request, file(path)))
    await agent(turn)
    with tempfile.TemporaryDirectory() as folder:
        for started in turn.started:
            await started.fn(FakeJob(Path(folder)), **started.args)


def measured(request: str, path: Path) -> tuple[float, int]:
    """Seconds of processor time and MB of memory of one request, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", request, str(path)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds, size = done.stdout.split()[-2:]
    return float(seconds), int(size)


def main(words: list[str]) -> None:
    """Print the table."""
    print("| Thing | File | CPU, s | Memory, MB | Bar, s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for label, rows in FILES.items():
            path = Path(folder) / "orders.csv"
            orders(path, rows)
            for name, (request, bar) in THINGS.items():
                if (words and name not in words) or (rows > _LARGEST and name in _SMALL_ONLY):
                    continue
                seconds, size = measured(request, path)
                if rows > _LARGEST:
                    bar = _FIRST_PICTURE if name == "chart" else None
                print(f"| {name} | {label} | {seconds:.1f} | {size} | {bar or '–'} |", flush=True)


def one(request: str, path: str) -> None:
    """Run a request in this process and print what it took."""
    asyncio.run(make(request, Path(path)))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss // 1024}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
