"""People who may sign in, and the mails with links for them. Nothing here checks a rule."""

from __future__ import annotations

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx, scalar
from agentpost.users.records import UserMailRecord, UserRecord
from agentpost.users.role_rules import Role

USERS = Mapper(UserRecord, "users", "ON CONFLICT (email) DO NOTHING")
USER_MAILS = Mapper(UserMailRecord, "user_mails")

_GET = f"{USERS.select} WHERE id = ?"
_BY_EMAIL = f"{USERS.select} WHERE email = ?"
_BY_SUBJECT = f"{USERS.select} WHERE oidc_subject = ?"
_PAGE = f"{USERS.select} WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
_LEADERS = (
    f"{USERS.select} WHERE account_id = ? AND role IN (?, ?) AND email NOT LIKE ?"
    " ORDER BY id LIMIT ?"
)
_INVITATION = "% %"  # see `UserRecord`
_INVITATIONS = f"{USERS.select} WHERE invited_email = ? ORDER BY id DESC LIMIT ?"
_OPERATORS = "SELECT COUNT(*) FROM users WHERE role = ? AND email NOT LIKE ?"
_ALL = f"{USERS.select} WHERE id > ? ORDER BY id LIMIT ?"
_DUE = (
    f"{USER_MAILS.select} WHERE next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?"
    " /*skip locked*/"
)


def insert(tx: Tx, user: UserRecord) -> bool:
    """False when the e-mail address is taken."""
    return USERS.insert(tx, user)


def get(tx: Tx, user_id: str) -> UserRecord | None:
    """By id."""
    return USERS.one(tx, _GET, (user_id,))


def lock(tx: Tx, user_id: str) -> UserRecord | None:
    """`get`, held until the commit."""
    return USERS.one(tx, f"{_GET} /*for update*/", (user_id,))


def by_email(tx: Tx, email: str) -> UserRecord | None:
    """By the address, as it is stored."""
    return USERS.one(tx, _BY_EMAIL, (email,))


def by_subject(tx: Tx, subject: str) -> UserRecord | None:
    """By what the identity provider calls them."""
    return USERS.one(tx, _BY_SUBJECT, (subject,))


def invitations(tx: Tx, address: str, limit: int) -> list[UserRecord]:
    """Those of an address that were not accepted, newest first."""
    return USERS.all(tx, _INVITATIONS, (address, limit))


def page(tx: Tx, account_id: str, before: str, limit: int) -> list[UserRecord]:
    """The account's users with ids before that one, newest first."""
    return USERS.all(tx, _PAGE, (account_id, before, limit))


def leaders(tx: Tx, account_id: str, limit: int) -> list[UserRecord]:
    """The account's owners and operators, oldest first."""
    return USERS.all(
        tx, _LEADERS, (account_id, Role.OWNER.value, Role.OPERATOR.value, _INVITATION, limit)
    )


def operators(tx: Tx) -> int:
    """How many there are, without invitations."""
    return int(scalar(tx, _OPERATORS, (Role.OPERATOR.value, _INVITATION)))


def after(tx: Tx, user_id: str, limit: int) -> list[UserRecord]:
    """Users of every account with ids behind that one, oldest first."""
    return USERS.all(tx, _ALL, (user_id, limit))


def set_password(tx: Tx, user_id: str, password: str) -> None:
    """``password``: the hash."""
    tx.execute("UPDATE users SET password = ? WHERE id = ?", (password, user_id))


def replace_password(tx: Tx, user_id: str, before: str, password: str) -> None:
    """A better hash of the same password; nothing when it was changed meanwhile."""
    sql = "UPDATE users SET password = ? WHERE id = ? AND password = ?"
    tx.execute(sql, (password, user_id, before))


def set_role(tx: Tx, user_id: str, role: Role) -> None:
    """The role from now on."""
    tx.execute("UPDATE users SET role = ? WHERE id = ?", (role.value, user_id))


def set_subject(tx: Tx, user_id: str, subject: str) -> None:
    """Who they are at the identity provider; a password that was set before is gone."""
    sql = "UPDATE users SET oidc_subject = ?, password = NULL WHERE id = ?"
    tx.execute(sql, (subject, user_id))


def touch(tx: Tx, user_id: str, now: int) -> None:
    """They signed in."""
    tx.execute("UPDATE users SET last_login_at = ? WHERE id = ?", (now, user_id))


def delete(tx: Tx, user_id: str) -> None:
    """The user is removed."""
    tx.execute("DELETE FROM users WHERE id = ?", (user_id,))


def claim_mails(tx: Tx, now: int, until: int, limit: int) -> list[UserMailRecord]:
    """Take mails that are due; due again at ``until`` unless they are deleted."""
    mails = USER_MAILS.all(tx, _DUE, (now, limit))
    for mail in mails:
        tx.execute(
            "UPDATE user_mails SET next_attempt_at = ?, attempts = attempts + 1 WHERE id = ?",
            (until, mail.id),
        )
    return mails


def delete_mail(tx: Tx, mail_id: str) -> None:
    """It was sent, or never will be."""
    tx.execute("DELETE FROM user_mails WHERE id = ?", (mail_id,))
