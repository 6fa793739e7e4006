"""The TypeScript client's package: built, packed, and put where programs find it."""

import hashlib
import shutil
from pathlib import Path

from tests.house.tree import ROOT
from tests.node import require_packages, run
from tests.servers import locked, run_dir

CLIENT = ROOT / "clients" / "typescript"
DIST = CLIENT / "dist"
SOURCES = ("src", "test", "tsconfig.json", "tsconfig.cjs.json", "package.json", "package-lock.json")


def fingerprint(*paths: Path) -> str:
    """One for the names and contents of these files, and of all files below these folders."""
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    digest = hashlib.sha256()
    for file in sorted(file for file in files if file.is_file()):
        digest.update(f"{file}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def build() -> Path:
    """The folder of the compiled tests, with the client beside it; skips with the reason where that
    cannot be had. The compiler runs when something differs from what it last read or wrote: it
    takes ten seconds of CPU."""
    run_dir().mkdir(exist_ok=True)
    stamp = DIST / ".stamp"
    files = [*(CLIENT / name for name in SOURCES), DIST / "src", DIST / "cjs", DIST / "test"]
    with locked(run_dir() / "typescript.lock"):
        require_packages(CLIENT)
        if not stamp.exists() or stamp.read_text() != fingerprint(*files):
            shutil.rmtree(DIST, ignore_errors=True)
            building = run("npm", "run", "build", folder=CLIENT)
            assert building.returncode == 0, building.stdout
            stamp.write_text(fingerprint(*files))
    return DIST / "test"


def install(modules: Path, folder: Path) -> Path:
    """Put the package, as it is published, into ``modules``; its tar file stays in ``folder``."""
    build()
    packing = run("npm", "pack", "--pack-destination", str(folder), folder=CLIENT)
    assert packing.returncode == 0, packing.stderr
    packed = folder / packing.stdout.split()[-1]
    shutil.rmtree(modules / "agentpost-client", ignore_errors=True)
    unpacking = run("tar", "-xzf", str(packed), "-C", str(modules), folder=CLIENT)
    assert unpacking.returncode == 0, unpacking.stderr
    (modules / "package").rename(modules / "agentpost-client")
    return packed
