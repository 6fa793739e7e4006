"""Single values of this installation."""

from agentpost.db.session import Tx, scalar
from agentpost.db.statements import Change, Value

# The stored value, if there is one.
get = Value[str, str]("SELECT value FROM meta WHERE name = ?")
# Store the value, over an older one.
put = Change[str, str](
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
# Forget the value.
delete = Change[str]("DELETE FROM meta WHERE name = ?")


def get_or_put(tx: Tx, name: str, value: str) -> str:
    """The stored value; ``value`` is stored when there is none."""
    tx.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, value)
    )
    return str(scalar(tx, "SELECT value FROM meta WHERE name = ?", (name,)))


def starting(tx: Tx, prefix: str) -> dict[str, str]:
    """The values whose names begin so. ``prefix`` has none of the signs of a pattern but ``_``."""
    rows = tx.all("SELECT name, value FROM meta WHERE name LIKE ?", (f"{prefix}%",))
    return {str(name): str(value) for name, value in rows if name.startswith(prefix)}
