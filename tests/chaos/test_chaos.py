"""The short form of `make chaos`: some faults on each database (docs/faults.md)."""

import tempfile
from pathlib import Path

import pytest

from tests.chaos.running import run

PLAYED = {
    "sqlite": (("all",), ("kill", "clock")),
    "postgres": (("all", "all"), ("kill", "stop", "postgres")),
}
"""One of each: the others take longer, or more of the processor, than a run of the tests may."""


@pytest.mark.parametrize("where", PLAYED)
def test_everything_holds_under_some_faults(where: str) -> None:
    roles, faults = PLAYED[where]
    # In a short folder: the path of PostgreSQL's socket may have a hundred characters.
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        report = run(
            Path(folder),
            roles=roles,
            seed=1,
            faults=faults,
            seconds=600,
            clients=2,
            pause=1,
            faults_max=len(faults),
        )
    assert not report.found, str(report)
    assert report.messages > 0, str(report)
