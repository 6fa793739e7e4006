"""Who wrote a message or caused a charge: the name of a key, or of a user of the web app."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.transactions import read_transaction
from agentpost.users import rows as user_rows

APP: Final = "the web app"
_GONE: Final = "deleted key"
_REMOVED: Final = "removed user"
_USERS: Final = 1_000
"""So many users of an account are named; others are "a user"."""


@dataclass(frozen=True, slots=True)
class Authors:
    """The names in one account: of its keys and of its users, by id."""

    account_id: str
    keys: Mapping[str, str]
    users: Mapping[str, str]

    def name(self, key_id: str | None, user_id: str | None = None) -> str:
        """Who that is; "" when nobody is recorded. The key of what is written in the web app is
        the account itself."""
        if user_id:
            return self.users.get(user_id, _REMOVED if len(self.users) < _USERS else "user")
        if not key_id:
            return ""
        return APP if key_id == self.account_id else self.keys.get(key_id, _GONE)


@read_transaction
def of_account(tx: Tx, ctx: AppContext, account_id: str) -> Authors:
    """The names in an account."""
    users = user_rows.page(tx, account_id, ids.last(ids.USER), _USERS)
    return Authors(
        account_id,
        account_rows.key_names(tx, account_id),
        {user.id: user.address for user in users},
    )
