"""The contract, checked from outside: what `agentpost verify` runs against any deployment.

A check is a test of pytest below `checks/`: a function that proves one rule of the API. It ends in
one of three ways:

    proved         the deployment did what the rule says
    failed         it did something else: what was expected, what came, and for which request
    not checked    it could not be carried out, and why; never counted as proved

`running.run` carries them out on a `Probe`: polite, with few messages, within the key's budget.
`cleanup.leave` deletes afterwards what can be deleted. Like the client, this package knows the
server only by its answers: it imports nothing of it.
"""

import pytest

__version__ = "0.3.0"

pytest.register_assert_rewrite("agentpost_verify.checks")
