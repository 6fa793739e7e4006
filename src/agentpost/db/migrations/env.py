"""Alembic's entry point: runs on the connection `db.migrate` hands over."""

from __future__ import annotations

from alembic import context

from agentpost.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
