"""`make chaos`: real processes, real faults, and checks that read only what clients saw.

make chaos ARGS="--minutes 60 --seed 7 --faults kill,stop,postgres --nodes 2,roles"
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests import servers
from tests.chaos.faults import FAULTS, NEED_NODES
from tests.chaos.running import run
from tests.chaos.stores import can_mount

SPLIT = "roles"
SPLIT_ROLES = ("api", "worker", "worker")


def main() -> int:
    """0: everything held; 1: something did not."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="of faults, in all (3)")
    parser.add_argument("--seed", type=int, default=1, help="decides kinds and pauses (1)")
    parser.add_argument("--faults", default=",".join(FAULTS), help=f"some of {','.join(FAULTS)}")
    parser.add_argument(
        "--nodes",
        default="1,2",
        help=f"1: SQLite; more: PostgreSQL; {SPLIT}: API and workers apart (1,2)",
    )
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    faults = given.faults.split(",")
    unknown = sorted(set(faults) - set(FAULTS))
    if unknown:
        parser.error(f"there is no fault {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    layouts = [_roles(layout) for layout in given.nodes.split(",")]
    if layouts == [("all",)] and set(faults) <= NEED_NODES:
        parser.error("one node has no PostgreSQL; give --nodes 2")
    if "disk" in faults and not can_mount():
        print("left out: disk, because only root can mount a small one")
        faults.remove("disk")
    run_dir = servers.new_run_dir()
    os.environ[servers.RUN_DIR] = str(run_dir)
    failed = False
    try:
        for roles in layouts:
            made = [fault for fault in faults if len(roles) > 1 or fault not in NEED_NODES]
            if not made:
                continue
            folder = Path(tempfile.mkdtemp(prefix="chaos-"))
            seconds = given.minutes * 60 / len(layouts)
            report = run(
                folder,
                roles=roles,
                seed=given.seed,
                faults=made,
                seconds=seconds,
                clients=given.clients,
            )
            print(report, flush=True)
            failed = failed or bool(report.found)
            if report.found:
                print(f"  data and logs: {folder}")
            else:
                shutil.rmtree(folder)
    finally:
        servers.end_run(run_dir)
    return int(failed)


def _roles(layout: str) -> tuple[str, ...]:
    return SPLIT_ROLES if layout == SPLIT else ("all",) * int(layout)


if __name__ == "__main__":
    sys.exit(main())
