"""Alembic's entry point: runs on the connection `db.migrate` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from agentpost.db.migrations.earlier import complete
from agentpost.db.tables import metadata

connection = context.config.attributes["connection"]
complete(connection)
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
