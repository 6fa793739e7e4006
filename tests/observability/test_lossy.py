"""A log on a full disk loses lines, nothing else."""

from contextlib import suppress
from pathlib import Path

from agentpost.observability.logging import Lossy


def test_lines_go_through(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        print("a line", file=Lossy(file), flush=True)
    assert (tmp_path / "log").read_text() == "a line\n"


def test_a_full_disk_is_no_fault() -> None:
    with suppress(OSError), Path("/dev/full").open("w", buffering=1) as full:  # closing fails, too
        log = Lossy(full)
        for _ in range(3):
            print("a line", file=log, flush=True)
        passed = True
    assert passed
