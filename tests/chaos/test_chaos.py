"""The short form of `make chaos`: one fault of each kind (docs/faults.md)."""

import tempfile
from pathlib import Path

import pytest

from tests.chaos.running import run
from tests.chaos.targets import FAULTS


@pytest.mark.parametrize("nodes", [1, 2])
def test_everything_holds_under_one_fault_of_each_kind(nodes: int) -> None:
    # In a short folder: the path of PostgreSQL's socket may have a hundred characters.
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        report = run(
            Path(folder),
            nodes=nodes,
            seed=1,
            faults=FAULTS,
            seconds=600,
            clients=2,
            pause=1,
            faults_max=len(FAULTS),
        )
    assert not report.found, str(report)
    assert report.messages > 0, str(report)
