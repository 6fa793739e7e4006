"""Databases from before migrations were frozen.

Until revision 0005 some migrations were changed after databases had been made with them, so a
revision up to there does not say for certain what a database has. `complete` looks and makes it
what the migrations as they are now would have made. It changes nothing in a database that has
everything, and nothing above 0005.
"""

from __future__ import annotations

from types import ModuleType

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory

from agentpost.db import migrate

LAST = "0005"
_WAITING = sa.text("turn_state = 'waiting'")
_RUNNING = sa.text("turn_state = 'running'")
_CURRENT = sa.text("replaced = 0")


def complete(connection: sa.Connection) -> None:
    """See the module docstring; part of the upgrade's own transaction."""
    context = MigrationContext.configure(connection)
    revision = context.get_current_revision()
    if revision is None or revision > LAST:
        return
    with Operations.context(context) as op:
        _run_what_was_left_out(connection, revision)
        _keep_versions_of_files(connection, op)
        _search_open_turns(connection, op)
        if revision >= "0004":
            _index(connection, op, "ix_files_work", "files", ["work_id"])
        if revision == LAST:
            _index(connection, op, "ix_login_tokens_expires", "login_tokens", ["expires_at"])
            _index(connection, op, "ix_sessions_expires", "sessions", ["expires_at"])
            _find_versions_of_files(connection, op)


def _run_what_was_left_out(connection: sa.Connection, revision: str) -> None:
    """For a while 0003 and 0004 followed on 0001."""
    tables = set(sa.inspect(connection).get_table_names())
    if revision >= "0002" and "mails" not in tables:
        _migration("0002").upgrade()
    if revision >= "0003" and "swept" not in _columns(connection, "uploads"):
        _migration("0003").upgrade()


def _migration(revision: str) -> ModuleType:
    return ScriptDirectory(str(migrate.MIGRATIONS)).get_revisions(revision)[0].module


def _keep_versions_of_files(connection: sa.Connection, op: Operations) -> None:
    """A file was known by its place; now each version is, by its bytes."""
    columns = _columns(connection, "files")
    if "replaced" in columns:
        return
    for name in _indexes(connection, "files"):
        op.drop_index(name, "files")
    op.rename_table("files", "files_by_place")
    op.create_table(
        "files",
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("work_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("replaced", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("blob"),
    )
    kept = ", ".join(columns)
    op.execute(f"INSERT INTO files ({kept}, replaced) SELECT {kept}, 0 FROM files_by_place")
    op.drop_table("files_by_place")
    op.create_index("ix_files_job", "files", ["job_id"])
    op.create_index("ix_files_message", "files", ["message_id"])
    op.create_index(
        "uq_files_current",
        "files",
        ["work_id", "path"],
        unique=True,
        sqlite_where=_CURRENT,
        postgresql_where=_CURRENT,
    )


def _search_open_turns(connection: sa.Connection, op: Operations) -> None:
    """One index for turns in either state became one for each."""
    if "ix_messages_open_turns" in _indexes(connection, "messages"):
        op.drop_index("ix_messages_open_turns", "messages")
    waiting = ["conversation_id", "busy_by", "id"]
    _index(connection, op, "ix_messages_waiting", "messages", waiting, _WAITING)
    _index(connection, op, "ix_messages_running", "messages", ["turn_began_at", "id"], _RUNNING)


def _find_versions_of_files(connection: sa.Connection, op: Operations) -> None:
    if _indexes(connection, "files")["ix_files_work"] == ["work_id"]:
        op.drop_index("ix_files_work", "files")
        op.create_index("ix_files_work", "files", ["work_id", "path", "replaced"])


def _columns(connection: sa.Connection, table: str) -> list[str]:
    return [str(column["name"]) for column in sa.inspect(connection).get_columns(table)]


def _indexes(connection: sa.Connection, table: str) -> dict[str, list[str | None]]:
    """The columns of a table's indexes, without those of its constraints."""
    return {
        str(index["name"]): list(index["column_names"])
        for index in sa.inspect(connection).get_indexes(table)
        if not index.get("duplicates_constraint")
    }


def _index(
    connection: sa.Connection,
    op: Operations,
    name: str,
    table: str,
    columns: list[str],
    where: sa.TextClause | None = None,
) -> None:
    if name not in _indexes(connection, table):
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
