"""Bringing a database to the newest schema. The only use of SQLAlchemy at run time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, pool, text

MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 7_301_994_651


def sqlite_engine(path: Path) -> Engine:
    """SQLAlchemy's view of our SQLite file."""
    engine = create_engine(f"sqlite:///{path}", poolclass=pool.NullPool)

    @event.listens_for(engine, "connect")
    def begin_ourselves(connection: Any, _: object) -> None:
        # The driver's own BEGIN leaves DDL outside the transaction; SQLAlchemy is to send it.
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout=30000")
        connection.execute("PRAGMA journal_mode=WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def postgres_engine(url: str) -> Engine:
    """SQLAlchemy's view of a PostgreSQL database."""
    _, _, rest = url.partition("://")
    return create_engine(f"postgresql+psycopg://{rest}", poolclass=pool.NullPool)


def upgrade(engine: Engine) -> None:
    """Run what is missing; several processes may come at once, one of them does it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_lock({_LOCK})"))
            connection.commit()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
    engine.dispose()
