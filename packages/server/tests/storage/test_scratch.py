"""Temporary files go with their process, also when it is killed."""

import subprocess
import sys
import tempfile
from pathlib import Path

from agentpost.storage.scratch import ELSEWHERE, Scratch

HOLD = """
import sys, tempfile
from pathlib import Path
from agentpost.storage.scratch import Scratch
made = Scratch(Path(sys.argv[1]), "other")
tempfile.mkstemp()
print("ready", flush=True)
sys.stdin.readline()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_temporary_files_are_made_there_and_go_with_it(tmp_path: Path) -> None:
    before = tempfile.gettempdir()
    made = Scratch(tmp_path / "scratch", "mine")
    with tempfile.NamedTemporaryFile() as file:
        assert Path(file.name).parent == made.folder
    tempfile.mkdtemp()
    made.close()
    assert names(tmp_path / "scratch") == []
    assert tempfile.gettempdir() == before


def test_what_it_has_elsewhere_goes_with_it(tmp_path: Path) -> None:
    for killed in (True, False):
        elsewhere = tmp_path / "elsewhere" / "of-steps"
        elsewhere.mkdir(parents=True)
        (elsewhere / "given").touch()
        left = tmp_path / "scratch" / "killed"
        if killed:
            left.mkdir(parents=True)
            (left / ELSEWHERE).symlink_to(elsewhere)
        made = Scratch(tmp_path / "scratch", "mine")
        assert elsewhere.exists() != killed
        if not killed:
            (made.folder / ELSEWHERE).symlink_to(elsewhere)
        made.close()
        assert names(tmp_path / "elsewhere") == []


def test_only_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        Scratch(tmp_path, "first").close()
        assert names(tmp_path) == ["other"]
        assert len(names(tmp_path / "other")) == 1
        other.kill()
        other.wait()
    made = Scratch(tmp_path, "second")
    assert names(tmp_path) == ["second"]
    made.close()
