"""Copying a PostgreSQL database with its own programs, pg_dump and pg_restore.

They are found by PATH. The address goes to them by environment variables: their arguments, which
every user of the machine can see, have no password.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from agentpost.db.migrate import VERSION_TABLE
from agentpost.db.session import Tx

DUMP: Final = "pg_dump"
RESTORE: Final = "pg_restore"
_LEFT_OUT: Final = ("--exclude-table-data=meta", f"--exclude-table={VERSION_TABLE}")
"""`meta` may hold the secret key. A server takes a database only with the other table, which is
therefore made last, together with the rows of `meta`."""


def require(program: str) -> str:
    """Where the program is; raises `ValueError` that says how to get it."""
    path = shutil.which(program)
    if path is None:
        raise ValueError(
            f"{program} is not in PATH. Install PostgreSQL's client programs, of the server's"
            " version or a newer one, or use PostgreSQL's tools yourself: docs/recipes/backups.md"
            " has the commands."
        )
    return path


def dump(tx: Tx, url: str, target: Path) -> None:
    """Write the database as ``tx`` sees it, without the rows of `meta` and without its version, to
    a file in pg_dump's own format. Raises `OSError` with what the program said."""
    row = tx.one("SELECT pg_export_snapshot()")
    assert row is not None
    target.touch(mode=0o600)
    options = [*_LEFT_OUT, "--format=custom", f"--snapshot={row[0]}", f"--file={target}"]
    _run([require(DUMP), *options], url)


def restore(url: str, source: Path) -> None:
    """Put a dump into an empty database in one transaction; `migrate.mark_version` comes last.
    Raises `OSError` with what the program said; then nothing was changed."""
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    name = _environment(url).get("PGDATABASE", "")
    _run([require(RESTORE), *options, f"--dbname={name}", str(source)], url)


def refuse_tables(tx: Tx) -> None:
    """Raises `ValueError` unless the database is empty."""
    if tx.one("SELECT to_regclass('meta')") != (None,):
        raise ValueError(
            "the database of AGENTPOST_DATABASE_URL has tables already, perhaps of a restore that"
            " was cut off. Name an empty one: dropdb and createdb make it so"
        )


def _run(command: list[str], url: str) -> None:
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own programs
        command,
        env={**os.environ, **_environment(url)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        reason = done.stderr.strip() or f"it ended with {done.returncode}"
        raise OSError(f"{Path(command[0]).name} failed: {reason}")


def _environment(url: str) -> dict[str, str]:
    """The variables by which libpq takes the parts of an address."""
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Conninfo

    names = {o.keyword.decode(): o.envvar.decode() for o in Conninfo.get_defaults() if o.envvar}
    parts = conninfo_to_dict(url)
    return {names[key]: str(value) for key, value in parts.items() if key in names}
