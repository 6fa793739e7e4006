"""`agentpost db reencrypt`."""

from __future__ import annotations

from dataclasses import asdict

from agentpost.cli.commands import command
from agentpost.cli.context import change
from agentpost.cli.errors import say
from agentpost.cli.printing import Result, print_text, report


@command("db reencrypt", "agentpost db reencrypt --json")
def db_reencrypt() -> Result:
    """Encrypt endpoint secrets with the current secret key.

    Earlier keys can then be deleted. The exit code is 1 when a secret cannot be decrypted.
    """
    from agentpost.webhooks import secrets

    result = change(secrets.reencrypt)
    line = (
        f"Encrypted with the current key: {result.encrypted} now, {result.current} before."
        f" Cannot be decrypted: {len(result.unreadable)}."
    )

    def show() -> None:
        print_text(line)
        for endpoint_id in result.unreadable:
            say(f"{endpoint_id}: {secrets.UNREADABLE}")

    return report(asdict(result), show, code=1 if result.unreadable else 0)
