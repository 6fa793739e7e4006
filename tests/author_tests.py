"""Runs the tests of an agent author's folder, as its reader would."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

from tests import programs


def run_tests(folder: Path, module: str) -> int:
    """Run every test function of that module in this process; how many there were.

    To start pytest for them takes some seconds of CPU and says nothing more about the code.
    """
    sys.path.insert(0, str(folder))
    try:
        names = vars(importlib.import_module(module))
        tests = [value for name, value in names.items() if name.startswith("test_")]
        for test in tests:
            test()
        return len(tests)
    finally:
        sys.path.remove(str(folder))
        for name, loaded in list(sys.modules.items()):
            if (getattr(loaded, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
        importlib.invalidate_caches()


def pytest_in(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run `python -m pytest` there, without the plugins that this project installs for itself."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    program = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    return programs.run(*program, cwd=folder, env=environment)
