"""Copying a PostgreSQL database with its own programs, pg_dump and pg_restore.

They are found by PATH. The address goes to them by environment variables: their arguments, which
every user of the machine can see, have no password.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from agentpost.db.session import Tx

DUMP: Final = "pg_dump"
RESTORE: Final = "pg_restore"


def require(program: str) -> str:
    """Where the program is; raises `ValueError` with the command to type elsewhere."""
    path = shutil.which(program)
    if path is None:
        raise ValueError(
            f"{program} is not in PATH. Install PostgreSQL's client programs, of the server's"
            " version or a newer one, or use PostgreSQL's tools yourself: docs/recipes/backups.md"
            " has the commands."
        )
    return path


def dump(url: str, target: Path, snapshot: str, *, without_rows: str) -> None:
    """Write the database, as that exported snapshot shows it, to a file in pg_dump's own format; of
    the table ``without_rows`` the definition alone.

    Raises `OSError` with what the program said.
    """
    target.touch(mode=0o600)
    options = ["--format=custom", f"--snapshot={snapshot}", f"--exclude-table-data={without_rows}"]
    _run([require(DUMP), *options, f"--file={target}"], url)


def restore(url: str, source: Path, *, replace: bool) -> None:
    """Put a dump into the database in one transaction; ``replace``: over the tables that are there.

    Raises `OSError` with what the program said; then nothing was changed.
    """
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    if replace:
        options += ["--clean", "--if-exists"]
    name = _environment(url).get("PGDATABASE", "")
    _run([require(RESTORE), *options, f"--dbname={name}", str(source)], url)


def export_snapshot(tx: Tx) -> str:
    """A name by which another connection sees what this transaction sees, until it ends."""
    row = tx.one("SELECT pg_export_snapshot()")
    assert row is not None
    return str(row[0])


def is_empty(tx: Tx) -> bool:
    """Whether the database has none of our tables."""
    return tx.one("SELECT to_regclass('meta')") == (None,)


def _run(command: list[str], url: str) -> None:
    process = subprocess.run(  # noqa: S603 - PostgreSQL's own programs
        command,
        env={**os.environ, **_environment(url)},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode != 0:
        output = process.stderr.strip() or f"it ended with {process.returncode}"
        raise OSError(f"{Path(command[0]).name} failed: {output}")


def _environment(url: str) -> dict[str, str]:
    """The variables by which libpq takes the parts of an address."""
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Conninfo

    names = {o.keyword.decode(): o.envvar.decode() for o in Conninfo.get_defaults() if o.envvar}
    parts = conninfo_to_dict(url)
    return {names[key]: str(value) for key, value in parts.items() if key in names}
