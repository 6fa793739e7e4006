"""What a PostgreSQL database must be like, looked at when a server or a command starts."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from agentpost.extras import POSTGRES_ASKED, MissingExtra, require

if TYPE_CHECKING:
    from psycopg import Connection

_NOTICE_SECONDS: Final = 5.0
_PID: Final = b"SELECT pg_backend_pid()"
_ENCODING: Final = (
    "the database has the encoding {}, which cannot hold every text, so agentpost needs UTF8. Make"
    " another database (CREATE DATABASE agentpost ENCODING 'UTF8' TEMPLATE template0) and name it"
    " with AGENTPOST_DATABASE_URL."
)
_SESSION: Final = (
    "AGENTPOST_DATABASE_URL leads to a pooler that gives statements of one connection to different"
    " sessions of PostgreSQL ({}). agentpost needs a session for each connection: it listens for"
    " notices and keeps prepared statements and locks. Set the pooler to session mode (PgBouncer:"
    " pool_mode = session) or name the address of PostgreSQL itself."
)


def check_installed() -> None:
    """Raise `MissingExtra` unless the ``postgres`` extra can be imported: psycopg may be there
    without the library it calls."""
    require("postgres", POSTGRES_ASKED)
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("postgres", POSTGRES_ASKED, str(error)) from None
    del psycopg


def check_database(connection: Connection[Any], url: str) -> None:
    """Raises `OSError`, with what to do, for a database whose encoding is not UTF8, or one behind a
    pooler without sessions.

    Args:
        connection: in autocommit mode, with nothing done in it yet.
        url: its address, for a second connection.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise OSError(_ENCODING.format(encoding))
    reason = _lost_session(connection, url)
    if reason:
        raise OSError(_SESSION.format(reason))


def _lost_session(connection: Connection[Any], url: str) -> str:
    """Why the connection has no session to itself, or "". A pooler hands a session on between two
    transactions, so another connection may get it while it is not in use."""
    import psycopg

    channel = f"agentpost_{secrets.token_hex(8)}"
    try:
        connection.execute(f"LISTEN {channel}".encode())
        pids = [connection.execute(_PID).fetchone()]
        with psycopg.connect(url, connect_timeout=30) as other:
            if other.execute(_PID).fetchone() in pids:
                return "two connections got the same session"
            pids.append(connection.execute(_PID).fetchone())
            other.execute(f"NOTIFY {channel}".encode())
    except psycopg.errors.ProtocolViolation as error:
        return str(error).strip().partition("\n")[0]
    if len(set(pids)) > 1:
        return "two statements went to two sessions"
    if not list(connection.notifies(timeout=_NOTICE_SECONDS, stop_after=1)):
        return f"a notice did not arrive within {_NOTICE_SECONDS:.0f} seconds"
    connection.execute(f"UNLISTEN {channel}".encode())
    return ""
