"""`agentpost db reencrypt`."""

from __future__ import annotations

from dataclasses import asdict

import typer

from agentpost.cli.context import AsJson, show, with_context
from agentpost.cli.errors import say


def db_reencrypt(as_json: AsJson = False) -> None:
    """Encrypt the secrets of webhook endpoints with the current secret key, so that earlier keys
    can be dropped; exit 1 when some cannot be decrypted."""
    from agentpost.services import endpoint_secrets

    done = with_context(endpoint_secrets.reencrypt, "db reencrypt")
    line = (
        f"Encrypted with the current key: {done.encrypted} now, {done.current} before."
        f" Cannot be decrypted: {len(done.unreadable)}."
    )
    show(asdict(done), as_json, line)
    if done.unreadable:
        if not as_json:
            for endpoint_id in done.unreadable:
                say(f"{endpoint_id}: {endpoint_secrets.UNREADABLE}")
        raise typer.Exit(1)
