"""Single values of this installation."""

from agentpost.db.session import Tx, scalar


def get_or_put(tx: Tx, name: str, value: str) -> str:
    """The stored value; ``value`` is stored when there is none."""
    tx.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, value)
    )
    return str(scalar(tx, "SELECT value FROM meta WHERE name = ?", (name,)))


def get(tx: Tx, name: str) -> str | None:
    """The stored value, if there is one."""
    row = tx.one("SELECT value FROM meta WHERE name = ?", (name,))
    return str(row[0]) if row else None


def starting(tx: Tx, prefix: str) -> dict[str, str]:
    """The values whose names begin so. ``prefix`` has none of the signs of a pattern but ``_``."""
    rows = tx.all("SELECT name, value FROM meta WHERE name LIKE ?", (f"{prefix}%",))
    return {str(name): str(value) for name, value in rows if name.startswith(prefix)}


def put(tx: Tx, name: str, value: str) -> None:
    """Store the value, over an older one."""
    tx.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def delete(tx: Tx, name: str) -> None:
    """Forget the value."""
    tx.execute("DELETE FROM meta WHERE name = ?", (name,))
