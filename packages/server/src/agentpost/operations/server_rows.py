"""What an operator sees of the whole server: accounts, and what each node runs."""

from agentpost.accounts.rows import ACCOUNTS
from agentpost.db.filtered import containing
from agentpost.db.session import Tx
from agentpost.db.statements import Pairs
from agentpost.record.records import AccountRecord

_ACCOUNTS = (
    f"{ACCOUNTS.select} WHERE id < ? AND (id = ? OR LOWER(email) LIKE ? ESCAPE '!'"
    " OR LOWER(name) LIKE ? ESCAPE '!') ORDER BY id DESC LIMIT ?"
)

# How many jobs hold a slot, by account.
jobs_by_account = Pairs[str, int](
    "SELECT account_id, COUNT(*) FROM jobs"
    " WHERE state IN ('running', 'overdue') GROUP BY account_id"
)
# How many jobs hold a slot, by node; "": no node owns them.
jobs_by_node = Pairs[str, int](
    "SELECT COALESCE(node, ''), COUNT(*) FROM jobs WHERE state IN ('running', 'overdue')"
    " GROUP BY COALESCE(node, '')"
)
# How many turns run, by node; "": no node owns them.
turns_by_node = Pairs[str, int](
    "SELECT COALESCE(turn_node, ''), COUNT(*) FROM messages WHERE turn_state = 'running'"
    " GROUP BY COALESCE(turn_node, '')"
)


def accounts(tx: Tx, text: str, *, before: str, limit: int) -> list[AccountRecord]:
    """Accounts older than the id ``before``, newest first, with the text in their name or address,
    or as their id."""
    like = containing(text)
    return ACCOUNTS.all(tx, _ACCOUNTS, (before, text, like, like, limit))
