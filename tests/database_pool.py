"""Databases that are used again: rows deleted, everything else unchanged.

To copy a database with a server's tables and to drop it takes 40 ms of CPU, and hundreds of tests
want one; to delete what a test wrote takes half of that. Whatever else a test may change is
compared with what the database had when it was copied: tables, columns, indexes, functions,
settings, statistics, size. A database that differs is not used again.
"""

from dataclasses import dataclass, field

import psycopg
from psycopg import sql

BYTES_MAX = 4 * 2**20
"""Of all tables with their indexes: rows that are deleted still cost those who scan."""
KEPT = ("agentpost_schema",)
"""The tables whose rows came with the schema."""
OWN_OBJECTS = 16384
"""Objects with smaller numbers are PostgreSQL's own."""

# A row's xmin is another after every change of it. Inserted, changed and deleted rows all count.
CATALOGS = {
    "pg_class": "oid",
    "pg_attribute": "attrelid",
    "pg_attrdef": "oid",
    "pg_constraint": "oid",
    "pg_index": "indexrelid",
    "pg_namespace": "oid",
    "pg_proc": "oid",
    "pg_trigger": "oid",
    "pg_type": "oid",
    "pg_statistic": "starelid",
    "pg_extension": "oid",
}
SEEN = "SELECT '{0}', count(*), max(xmin::text::bigint)::text FROM {0} WHERE {1} >= {2}"
VERSION = """
SELECT 'version', count(*), max(version || ' ' || serves_from) FROM agentpost_schema
"""
SETTINGS = """
SELECT 'settings', count(*), string_agg(setconfig::text, '') FROM pg_db_role_setting
JOIN pg_database d ON d.oid = setdatabase WHERE datname = current_database()
"""
DATABASE = "SELECT 'name', 1, xmin::text FROM pg_database WHERE datname = current_database()"
VACUUMED = f"""
SELECT 'vacuumed', sum(relpages), sum(reltuples)::text FROM pg_class WHERE oid >= {OWN_OBJECTS}
"""
STATE = " UNION ALL ".join(
    [
        *(SEEN.format(name, key, OWN_OBJECTS) for name, key in CATALOGS.items()),
        VERSION,
        SETTINGS,
        DATABASE,
        VACUUMED,
    ]
)
TABLES = f"""
SELECT oid::regclass::text, relkind::text, pg_total_relation_size(oid) FROM pg_class
WHERE relkind IN ('r', 'S') AND oid >= {OWN_OBJECTS}
"""
OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

State = list[tuple[str, int, str]]


@dataclass
class ReusableDatabases:
    """The databases of one server and one template that wait to be used again."""

    free: list[str] = field(default_factory=list)
    states: dict[str, State] = field(default_factory=dict)
    """By the name of a database, what it had when it was copied."""

    def copied(self, name: str, url: str) -> None:
        """Remember what the new database has."""
        with psycopg.connect(url) as connection:
            self.states[name] = state_of(connection)

    def taken_back(self, name: str, url: str) -> bool:
        """End all its connections and delete all its rows. False: it is to be dropped instead."""
        known = self.states.pop(name)
        with psycopg.connect(url, autocommit=True) as connection:
            if not all(ended for (ended,) in connection.execute(OTHERS)):
                return False
            found = connection.execute(TABLES).fetchall()
            if state_of(connection) != known or sum(size for *_, size in found) > BYTES_MAX:
                return False
            _empty(connection, found)
        self.states[name] = known
        self.free.append(name)
        return True


def state_of(connection: psycopg.Connection) -> State:
    """What a database has besides the rows of its tables."""
    return connection.execute(STATE).fetchall()


def _empty(connection: psycopg.Connection, found: list[tuple[str, str, int]]) -> None:
    """Without triggers and foreign keys: the order of the tables is no matter."""
    statements = ["SET LOCAL session_replication_role = replica"]
    for name, kind, _ in found:
        if kind == "S":
            statements.append(f"SELECT setval('{name}', 1, false)")
        elif name not in KEPT:
            statements.append(f"DELETE FROM {name}")
    with connection.transaction():
        connection.execute(sql.SQL("; ".join(statements)))
