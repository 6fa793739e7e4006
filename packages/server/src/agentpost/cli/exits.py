"""The exit codes of a caller's commands: how a message ended, or why a command could not be done.

They are the same for every command; those that end with a message use all of them.
"""

from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
"""An argument or option is refused, here or by the server: what is called has to change."""
ASKS: Final = 3
BLOCKED: Final = 4
PARTLY: Final = 5
EXPIRED: Final = 6
NO_ANSWER: Final = 7
"""No server or key is known, the network fails, the server refuses for now, or waiting took too
long: the same call may succeed another time."""
INTERRUPTED: Final = 130

OF_STATUS: Final = {
    "completed": DONE,
    "processing": DONE,  # only seen with --no-wait: accepted
    "failed": FAILED,
    "needs_input": ASKS,
    "blocked": BLOCKED,
    "partial": PARTLY,
    "expired": EXPIRED,
}
HELP: Final = (
    "Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 the agent asks something, 4 blocked, "
    "5 partly completed, 6 expired, 7 no answer (settings, network, key, limits of the server, or "
    "--timeout), 130 interrupted."
)


def of_status(status: str) -> int:
    """The code for a message's status; one that is newer than this program counts as failed."""
    return OF_STATUS.get(status, FAILED)
