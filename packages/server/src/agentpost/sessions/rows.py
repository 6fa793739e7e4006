"""Login links and browser sessions, both kept as the SHA-256 of their secret only."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import All, Change, ChangeOf, First, Whether
from agentpost.users.records import LoginTokenRecord, SessionRecord

LOGIN_TOKENS = Mapper(LoginTokenRecord, "login_tokens")
SESSIONS = Mapper(SessionRecord, "sessions")
_ALL_LIVE = f"{SESSIONS.select} WHERE expires_at > ? AND last_used_at > ?"
_END = "UPDATE sessions SET expires_at = ? WHERE digest = ? AND expires_at > ?"
_END_LINKS = "DELETE FROM login_tokens WHERE user_id = ?"


# The link, while it can be used.
token = First[LoginTokenRecord, str, int](LOGIN_TOKENS, "WHERE digest = ? AND expires_at > ?")
# 1 for one caller only, however many spend the link at once.
spend_token = Change[str, int]("DELETE FROM login_tokens WHERE digest = ? AND expires_at > ?")
# The session, while it lasts and when it was used after that time.
live_session = First[SessionRecord, str, int, int](
    SESSIONS, "WHERE digest = ? AND expires_at > ? AND last_used_at > ?"
)
# The user's sessions that open something, the newest first.
live_sessions = All[SessionRecord, str, int, int, int](
    SESSIONS,
    "WHERE user_id = ? AND expires_at > ? AND last_used_at > ? ORDER BY created_at DESC LIMIT ?",
)


def all_live(
    tx: Tx, now: int, used_after: int, user_id: str | None, account_id: str | None
) -> list[SessionRecord]:
    """Every session that opens something, the newest first; of one user or account if given."""
    whose, values = _of_owner(user_id, account_id)
    sql = f"{_ALL_LIVE}{whose} ORDER BY created_at DESC"
    return SESSIONS.all(tx, sql, (now, used_after, *values))


# Whether a session of the user that is kept was used last from that address. Those that the user
# has ended or left are kept for a while.
was_used_from = Whether[str, str](
    "SELECT 1 FROM sessions WHERE user_id = ? AND address = ? LIMIT 1"
)
# Whether any session that is kept was used last from that address.
was_used = Whether[str]("SELECT 1 FROM sessions WHERE address = ? LIMIT 1")


# End the session whose digest begins, with so many characters, with that text.
delete_by_beginning = Change[int, str, int](
    "DELETE FROM sessions WHERE SUBSTR(digest, 1, ?) = ? AND expires_at > ?"
)


def delete_all(tx: Tx, user_id: str | None, account_id: str | None, now: int) -> int:
    """End all sessions and links, or those of a user or an account; how many sessions."""
    whose, values = _of_owner(user_id, account_id)
    tx.execute(f"DELETE FROM login_tokens WHERE 1 = 1{whose}", values)
    live = tx.execute(f"DELETE FROM sessions WHERE expires_at > ?{whose}", (now, *values))
    tx.execute(f"DELETE FROM sessions WHERE 1 = 1{whose}", values)
    return live


def _of_owner(user_id: str | None, account_id: str | None) -> tuple[str, tuple[str, ...]]:
    column, value = ("user_id", user_id) if user_id is not None else ("account_id", account_id)
    return ("", ()) if value is None else (f" AND {column} = ?", (value,))


# The session was used, from that address.
touch_session = ChangeOf[str, int, str | None](
    "UPDATE sessions SET last_used_at = ?, address = ? WHERE digest = ?"
)
# End the session, and forget from where it was used.
delete_session = Change[str]("DELETE FROM sessions WHERE digest = ?")


def end_session(tx: Tx, digest: str, now: int) -> None:
    """End the session; from where it was used is kept (`was_used_from`)."""
    tx.execute(_END, (now, digest, now))


# End the user's sessions, but for the one with that digest.
delete_sessions = Change[str, str]("DELETE FROM sessions WHERE user_id = ? AND digest <> ?")
# End the user's links that were not used, all or those for one purpose.
delete_links = Change[str](_END_LINKS)
delete_links_for = Change[str, str](f"{_END_LINKS} AND purpose = ?")
