"""Test an agent in the process of its test: no server, no network, no processes to wait for.

::

    from agentpost.testing import crash_after, run

    def test_it_counts() -> None:
        done = run(agent, "to be or not to be", crash=crash_after("write"))
        assert done.status == "completed"
        assert done.files["words.txt"] == b"be\\nnot\\nor\\nto"

The agent runs on the server's own runtime with an SQLite journal in a temporary folder. The clock
stands still until the test moves it, and the credits are the test's. Documented in
``docs/agents-testing.md``.
"""

from agentpost.testing.conversation import Conversation, run
from agentpost.testing.faults import CrashPoint, NotRepeatable, crash_after, crash_before
from agentpost.testing.outcome import JobOutcome, Outcome

__all__ = [
    "Conversation",
    "CrashPoint",
    "JobOutcome",
    "NotRepeatable",
    "Outcome",
    "crash_after",
    "crash_before",
    "run",
]
