"""The TypeScript client's package: built, packed, and put where programs find it."""

import shutil
import tarfile
from pathlib import Path

from tests.house.tree import ROOT
from tests.node import require_packages, run
from tests.servers import locked, run_dir

CLIENT = ROOT / "clients" / "typescript"


def build() -> Path:
    """The folder of the compiled tests, with the client beside it: made once for all processes of a
    run; skips with the reason where that cannot be had."""
    run_dir().mkdir(exist_ok=True)
    done = run_dir() / "typescript.built"
    with locked(run_dir() / "typescript.lock"):
        require_packages(CLIENT)
        if not done.exists():
            shutil.rmtree(CLIENT / "dist", ignore_errors=True)
            building = run("npm", "run", "build", folder=CLIENT)
            assert building.returncode == 0, building.stdout
            done.touch()
    return CLIENT / "dist" / "test"


def install(modules: Path, folder: Path) -> Path:
    """Put the package, as it is published, into ``modules``; its tar file stays in ``folder``."""
    build()
    packing = run("npm", "pack", "--pack-destination", str(folder), folder=CLIENT)
    assert packing.returncode == 0, packing.stderr
    packed = folder / packing.stdout.split()[-1]
    shutil.rmtree(modules / "agentpost-client", ignore_errors=True)
    with tarfile.open(packed) as tar:
        tar.extractall(modules / ".unpacked", filter="data")
    (modules / ".unpacked" / "package").rename(modules / "agentpost-client")
    (modules / ".unpacked").rmdir()
    return packed
