"""People who may sign in, and the mails with links for them. Nothing here checks a rule."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx, scalar
from agentpost.db.statements import All, Change, ChangeOf, First
from agentpost.users.records import UserMailRecord, UserRecord
from agentpost.users.role_rules import Role

USERS = Mapper(UserRecord, "users", "ON CONFLICT (email) DO NOTHING")
USER_MAILS = Mapper(UserMailRecord, "user_mails")

_LEADERS = (
    f"{USERS.select} WHERE account_id = ? AND role IN (?, ?) AND email NOT LIKE ?"
    " ORDER BY id LIMIT ?"
)
_INVITATION = "% %"  # see `UserRecord`
_OPERATORS = "SELECT COUNT(*) FROM users WHERE role = ? AND email NOT LIKE ?"
_DUE = (
    f"{USER_MAILS.select} WHERE next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?"
    " /*skip locked*/"
)


# False when the e-mail address is taken.
insert = USERS.insert
# By id.
get = First[UserRecord, str](USERS, "WHERE id = ?")
# `get`, held until the commit.
lock = First[UserRecord, str](USERS, "WHERE id = ? /*for update*/")
# By the address, as it is stored.
by_email = First[UserRecord, str](USERS, "WHERE email = ?")
# By what the identity provider calls them.
by_subject = First[UserRecord, str](USERS, "WHERE oidc_subject = ?")
# Those of an address that were not accepted, newest first.
invitations = All[UserRecord, str, int](USERS, "WHERE invited_email = ? ORDER BY id DESC LIMIT ?")
# The account's users with ids before that one, newest first.
page = All[UserRecord, str, str, int](
    USERS, "WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
)


def leaders(tx: Tx, account_id: str, limit: int) -> list[UserRecord]:
    """The account's owners and operators, oldest first."""
    return USERS.all(
        tx, _LEADERS, (account_id, Role.OWNER.value, Role.OPERATOR.value, _INVITATION, limit)
    )


def operators(tx: Tx) -> int:
    """How many there are, without invitations."""
    return int(scalar(tx, _OPERATORS, (Role.OPERATOR.value, _INVITATION)))


# Users of every account, oldest first.
all_ = All[UserRecord](USERS, "ORDER BY id")
# ``password``: the hash.
set_password = ChangeOf[str, str]("UPDATE users SET password = ? WHERE id = ?")


# A better hash of the same password, of that user and before; nothing when it was changed since.
replace_password = Change[str, str, str](
    "UPDATE users SET password = ? WHERE id = ? AND password = ?"
)


# The role from now on.
set_role = ChangeOf[str, str]("UPDATE users SET role = ? WHERE id = ?")
# Who they are at the identity provider; a password that was set before is gone.
set_subject = ChangeOf[str, str]("UPDATE users SET oidc_subject = ?, password = NULL WHERE id = ?")
# They signed in.
touch = ChangeOf[str, int]("UPDATE users SET last_login_at = ? WHERE id = ?")
# The user is removed.
delete = Change[str]("DELETE FROM users WHERE id = ?")


def claim_mails(tx: Tx, now: int, until: int, limit: int) -> list[UserMailRecord]:
    """Take mails that are due; due again at ``until`` unless they are deleted."""
    mails = USER_MAILS.all(tx, _DUE, (now, limit))
    for mail in mails:
        tx.execute(
            "UPDATE user_mails SET next_attempt_at = ?, attempts = attempts + 1 WHERE id = ?",
            (until, mail.id),
        )
    return mails


# It was sent, or never will be.
delete_mail = Change[str]("DELETE FROM user_mails WHERE id = ?")
