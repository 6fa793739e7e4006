"""Standard streams that are closed, full, or have no reader: the program goes on without them."""

import os
import sys
from contextlib import suppress

from agentpost.cli.printing import print_text


def open_missing() -> None:
    """Open the null device in place of each standard stream that is closed. Otherwise the next file
    or socket that is opened gets its number, and what is printed goes there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)


def announce(text: str) -> None:
    """Print a text that nobody needs; from then on an output that takes none leads nowhere, so that
    the end of the program does not fail with what is left of it."""
    try:
        print_text(text)
    except OSError:
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)
