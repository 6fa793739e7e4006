"""Makes many accounts in the database of a server, which may be running, and prints their keys as a
JSON list: ``python -m benchmarks.accounts 100``. A command for each would take longer than what is
measured."""

from __future__ import annotations

import asyncio
import json
import sys

from agentpost import bootstrap
from agentpost.accounts import actions as accounts
from agentpost.settings import load_settings


async def make(count: int) -> list[str]:
    """The keys of so many new accounts."""
    ctx = await bootstrap.open_context(load_settings())
    try:
        keys = []
        for number in range(count):
            account = await accounts.create(ctx, f"many{number}@example.com", "bench")
            keys.append((await accounts.create_key(ctx, account.id, "bench")).secret)
        return keys
    finally:
        await bootstrap.close(ctx)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(make(int(sys.argv[1])))))
