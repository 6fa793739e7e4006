"""`make simulate`: play histories until one fails, or all have held.

make simulate ARGS="--histories 50000 --seed 7"
make simulate ARGS="--seed 1234 --histories 1 --trace"
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulation.history import History
from tests.simulation.running import first_broken, made_schema, report, silent

CHUNK = 200


def main() -> int:
    """0: all held; 1: one failed."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000, help="how many (2000)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first one (0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--trace", action="store_true", help="print what happens; for few of them")
    parser.add_argument("--only", default="", help="only these operations: 0,3,4, or none")
    given = parser.parse_args()
    schema = made_schema()
    with silent():
        if given.trace:
            return _traced(schema, range(given.seed, given.seed + given.histories), given.only)
        return _played(schema, given.seed, given.histories, given.processes)


def _traced(schema: bytes, seeds: range, only: str) -> int:
    kept = None
    if only:
        kept = frozenset(int(n) for n in only.split(",") if n != "none")
    failed = 0
    for seed in seeds:
        outcome = History(schema, seed, only=kept, tracing=True).play()
        print("\n".join(outcome.trace))
        print(f"history {seed}: {outcome.broken or 'everything holds'}")
        failed += outcome.broken is not None
    return min(failed, 1)


def _chunk(schema: bytes, first: int, count: int) -> tuple[int, str] | None:
    with silent():
        return first_broken(schema, range(first, first + count))


def _played(schema: bytes, seed: int, histories: int, processes: int) -> int:
    began, done = time.monotonic(), 0
    found: tuple[int, str] | None = None
    with ProcessPoolExecutor(processes) as pool:
        starts = range(seed, seed + histories, CHUNK)
        sizes = {at: min(CHUNK, seed + histories - at) for at in starts}
        chunks = {pool.submit(_chunk, schema, at, sizes[at]): at for at in starts}
        for chunk in as_completed(chunks):
            found = chunk.result()
            if found is not None:
                pool.shutdown(cancel_futures=True)
                break
            done += sizes[chunks[chunk]]
            if sys.stderr.isatty():
                print(f"\r{done:,} of {histories:,}", end="", file=sys.stderr)
    took = time.monotonic() - began
    if found is None:
        print(f"{histories:,} histories from {seed}: everything holds ({took:.0f} s)")
        return 0
    print(f"history {found[0]}: {found[1]}\nlooking for its shortest form ...", file=sys.stderr)
    print(report(schema, found[0]))
    return 1


if __name__ == "__main__":
    # The order of sets of texts follows from this, and with it the history of a number.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
