"""Alembic migrations: one chain, run by `db.migrate` on both databases."""
