"""`agentpost db reencrypt`."""

from __future__ import annotations

from dataclasses import asdict

import typer

from agentpost.cli.context import AsJson, show, with_context
from agentpost.cli.errors import say


def db_reencrypt(as_json: AsJson = False) -> None:
    """Encrypt endpoint secrets with the current secret key.

    Earlier keys can then be deleted. The exit code is 1 when a secret cannot be decrypted.
    """
    from agentpost.webhooks import secrets

    result = with_context(secrets.reencrypt, "db reencrypt")
    line = (
        f"Encrypted with the current key: {result.encrypted} now, {result.current} before."
        f" Cannot be decrypted: {len(result.unreadable)}."
    )
    show(asdict(result), as_json, line)
    if result.unreadable:
        if not as_json:
            for endpoint_id in result.unreadable:
                say(f"{endpoint_id}: {secrets.UNREADABLE}")
        raise typer.Exit(1)
