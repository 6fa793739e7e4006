"""Importing a library without another one that it takes along where that is installed."""

import importlib
import sys


def import_without(library: str, along: str) -> None:
    """Import ``library`` as if ``along`` were not installed; nothing more when that is there
    already. Later imports of ``along`` find it. For the start of a process: other threads would
    not find it meanwhile."""
    if along in sys.modules:
        return
    sys.modules[along] = None  # type: ignore[assignment]  # importing it is an ImportError now
    try:
        importlib.import_module(library)
    finally:
        del sys.modules[along]
