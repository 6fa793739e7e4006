"""`make chaos`: real processes, real faults, and checks that read only what clients saw.

make chaos ARGS="--minutes 60 --seed 7 --faults kill,stop,postgres"
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests import servers
from tests.chaos.running import run
from tests.chaos.targets import FAULTS


def main() -> int:
    """0: everything held; 1: something did not."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="of faults, in all (3)")
    parser.add_argument("--seed", type=int, default=1, help="decides kinds and pauses (1)")
    parser.add_argument("--faults", default=",".join(FAULTS), help=f"some of {','.join(FAULTS)}")
    parser.add_argument("--nodes", default="1,2", help="1: SQLite; more: PostgreSQL (1,2)")
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    faults = given.faults.split(",")
    unknown = sorted(set(faults) - set(FAULTS))
    if unknown:
        parser.error(f"there is no fault {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    counts = [int(count) for count in given.nodes.split(",")]
    if counts == [1] and faults == ["postgres"]:
        parser.error("one node has no PostgreSQL; give --nodes 2")
    run_dir = servers.new_run_dir()
    os.environ[servers.RUN_DIR] = str(run_dir)
    failed = False
    try:
        for nodes in counts:
            if nodes == 1 and faults == ["postgres"]:
                continue
            folder = Path(tempfile.mkdtemp(prefix="chaos-"))
            seconds = given.minutes * 60 / len(counts)
            report = run(
                folder,
                nodes=nodes,
                seed=given.seed,
                faults=faults,
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


if __name__ == "__main__":
    sys.exit(main())
