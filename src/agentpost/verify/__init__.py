"""The contract, checked from outside: what `agentpost verify` runs against any deployment.

A `Check` is small and named, and proves one rule of the API. It ends in one of three ways:

    proved         the deployment did what the rule says
    failed         it did something else: what was expected, what came, and for which request
    not checked    it could not be carried out, and why; never counted as proved

`GROUPS` lists all of them, `runner.run` carries them out on a `Probe`: polite, with few messages,
within the key's budget, and taking away afterwards what can be taken away. Like the SDK this room
knows the server only by its answers: it imports shapes and rules, and nothing that serves.
"""
