"""Whether the bytes that count as stored by an account are those of its rows, for the doctor.

Without ``full`` a few accounts are compared, from a random one on, and of these only such as have
few rows: the doctor takes no longer the more is stored.
"""

import os

from agentpost.accounts import rows as accounts
from agentpost.blobs import account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx

_SAMPLE = 10
ROWS_MAX = 1_000
"""An account with more works, messages or uploads is compared with ``full`` only."""


async def audit(ctx: AppContext, *, full: bool) -> list[tuple[str, str, str]]:
    """(account, "miscounted", problem) of each account whose number is wrong."""
    found = await ctx.db.read(account_rows.different if full else _of_a_sample)
    return [
        (account_id, "miscounted", _problem(account_id, *sizes)) for account_id, *sizes in found
    ]


def _problem(account_id: str, counted: int, kept: int) -> str:
    return (
        f"{counted:,} bytes count as stored, but its rows have {kept:,};"
        f" `agentpost limits recount {account_id}` corrects it"
    )


def _of_a_sample(tx: Tx) -> list[tuple[str, int, int]]:
    ids = [account.id for account in accounts.all_(tx)]
    start = int.from_bytes(os.urandom(8), "big") % max(len(ids), 1)
    found = []
    for account_id in [*ids[start:], *ids[:start]][:_SAMPLE]:
        kept = account_rows.sum_rows(tx, account_id, ROWS_MAX)
        counted = account_rows.used(tx, account_id)
        if kept is not None and kept != counted:
            found.append((account_id, counted, kept))
    return found
