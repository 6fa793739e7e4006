"""Every statement written down in a module of rows: in constants, and inside functions.

A text is found in the syntax tree and read with the module's own names. One that is put together
from what a function is given cannot be read; it has to stand in `UNREADABLE`, with a reason.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from agentpost.db.mapper import Mapper
from agentpost.db.statements import Statement
from tests.house.tree import on_floor

STATEMENT = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b.*\b(FROM|INTO|UPDATE|SET)\b", re.S)
ELSEWHERE = ("db.migrate", "db.postgres", "db.mapper", "db.statements")
UNREADABLE = {
    "webhooks.delivery_rows.attempts_of": "finds rows of so many events",
    "retention.rows._some_of": "read where it is called",
    "retention.rows._oldest": "read where it is called",
    "retention.rows._delete_expired_sql": "read where it is called",
    "account_data.deletion_rows._some": "read where it is called",
    "account_data.export_rows._in_pages": "read below",
    "account_data.export_rows._of_events": "finds rows of so many events",
    "sessions.rows.delete_all": "read below",
    "uploads.rows.lock": "finds rows by so many ids",
    "uploads.rows.page": "read below, for both orders",
    "turns.conversation_rows.names": "finds rows by so many ids",
    "messages.rows.of_idempotency_keys": "finds rows by so many keys",
    "nodes.ownership_rows.comparison": "read where it is called",
    "db.filtered.newest": "read below, for each table",
    "db.filtered.counts": "read below, for each table",
    "db.filtered._nth": "read below",
    "webhooks.delivery_rows.ended_between": "read below",
    "requests.rows.ended_between": "read below",
}
COMPLETED = {
    "account_data.export_rows._in_pages": (
        "SELECT * FROM messages WHERE account_id = ? AND id > ? ORDER BY id LIMIT 200"
    ),
    "account_data.export_rows._in_pages parts": (
        "SELECT * FROM entries WHERE message_id = ? AND seq > ? ORDER BY seq LIMIT 200"
    ),
    "account_data.export_rows._in_pages files": (
        "SELECT * FROM files WHERE work_id = ? AND blob > ? ORDER BY blob LIMIT 200"
    ),
    "account_data.export_rows._of_events": (
        "SELECT event_id, n FROM attempts WHERE event_id IN (?, ?) ORDER BY event_id, n"
    ),
    "account_data.export_rows._of_events deliveries": (
        "SELECT event_id FROM deliveries WHERE event_id IN (?, ?) ORDER BY event_id, endpoint_id"
    ),
    "sessions.rows.delete_all": "DELETE FROM sessions WHERE account_id = ?",
    "sessions.rows.delete_all users": "DELETE FROM sessions WHERE user_id = ?",
    "webhooks.delivery_rows.ended_between": (
        "SELECT event_id FROM deliveries WHERE endpoint_id = ? AND event_id > ?"
        " AND created_at >= ? AND created_at < ? AND status IN (?, ?) ORDER BY event_id LIMIT ?"
    ),
    "requests.rows.ended_between": (
        "SELECT id FROM requests WHERE account_id = ? AND id >= ? AND id < ?"
        " AND (at + 1000 * ms) > ? ORDER BY (at + 1000 * ms), id LIMIT ?"
    ),
    "webhooks.delivery_rows.attempts_of": (
        "SELECT event_id, n, at FROM attempts WHERE event_id IN (?, ?) AND endpoint_id = ?"
        " ORDER BY event_id, n"
    ),
    "messages.rows.of_idempotency_keys": (
        "SELECT id FROM messages WHERE key_id = ? AND expires_at > ? AND idempotency_key IN (?, ?)"
    ),
    "turns.conversation_rows.names": "SELECT id, owner, name FROM conversations WHERE id IN (?, ?)",
    "messages.list_rows._NAMES": (
        "SELECT r.id, m.conversation FROM requests r JOIN messages m ON m.id = r.message_id"
        " WHERE r.id IN (?, ?)"
    ),
    "uploads.rows.lock": "SELECT * FROM uploads WHERE id IN (?, ?) AND account_id = ? ORDER BY id",
    **{
        f"uploads.rows.page {order}": (
            f"SELECT * FROM uploads WHERE account_id = ? AND id {behind} ?"
            " AND ((status = 'attached' AND (? = '' OR EXISTS (SELECT 1 FROM messages m"
            " WHERE m.id = uploads.message_id AND m.key_id = ?)))"
            " OR (status = 'ready' AND keep_by > ?))"
            f" ORDER BY id {order} LIMIT ?"
        )
        for order, behind in (("ASC", ">"), ("DESC", "<"))
    },
    # A filter is a condition on the rows that these find by their index.
    "db.filtered.newest": (
        "SELECT * FROM requests WHERE account_id = ? AND id < ? AND id >= ?"
        " ORDER BY id DESC LIMIT ?"
    ),
    "db.filtered.newest messages": (
        "SELECT * FROM messages WHERE account_id = ? AND id < ? AND id >= ?"
        " ORDER BY id DESC LIMIT ?"
    ),
    "db.filtered.newest messages of a key": (
        "SELECT * FROM messages WHERE key_id = ? AND id < ? AND id >= ?"
        " ORDER BY id DESC LIMIT 20000"
    ),
    "db.filtered.newest messages of a conversation": (
        "SELECT * FROM messages WHERE conversation_id = ? AND id < ? AND id >= ?"
        " ORDER BY id DESC LIMIT 20000"
    ),
    "db.filtered.newest messages of conversations": (
        "SELECT * FROM messages WHERE conversation_id IN (?, ?) AND id < ? AND id >= ?"
        " AND account_id || '' = ? ORDER BY id DESC LIMIT 50"
    ),
    "db.filtered.newest requests about messages": (
        "SELECT * FROM requests WHERE message_id IN (?, ?) AND id < ? AND id >= ?"
        " AND account_id || '' = ? ORDER BY id DESC LIMIT 50"
    ),
    "db.filtered.newest works": (
        "SELECT * FROM works WHERE account_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?"
    ),
    "db.filtered.counts": (
        "SELECT error, COUNT(*), MAX(id) FROM requests WHERE account_id = ? AND id < ?"
        " AND id >= ? GROUP BY error"
    ),
    "db.filtered.counts messages": (
        "SELECT status, reason, COUNT(*), MAX(id) FROM messages WHERE account_id = ? AND id < ?"
        " AND id >= ? GROUP BY status, reason"
    ),
    "db.filtered._nth": (
        "SELECT id FROM requests WHERE account_id = ? AND id < ? AND id >= ?"
        " ORDER BY id DESC LIMIT 1 OFFSET ?"
    ),
    "webhooks.delivery_rows.list_": (
        "SELECT d.event_id, e.name FROM deliveries d JOIN events e ON e.id = d.event_id"
        " WHERE d.endpoint_id = ? AND d.event_id < ? AND d.status = ?"
        " ORDER BY d.event_id DESC LIMIT ?"
    ),
}
PARTS = re.compile(r"operations\.doctor_rows\._RETRY")
"""Only parts of other statements."""


def statements() -> Iterator[tuple[str, str]]:
    """(where it is kept, its text)."""
    for source in on_floor("rows"):
        name = source.module.removeprefix("agentpost.")
        if name in ELSEWHERE:
            continue
        module = importlib.import_module(source.module)
        seen = set()
        for kept, sql in (*_constants(module, name), *_in_functions(module, name)):
            if sql not in seen and not PARTS.fullmatch(kept) and kept not in COMPLETED:
                seen.add(sql)
                yield kept, sql
    yield from COMPLETED.items()


def _constants(module: ModuleType, name: str) -> Iterator[tuple[str, str]]:
    for constant, value in vars(module).items():
        for sql in _texts(value):
            yield f"{name}.{constant}", sql


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if STATEMENT.match(value):
            yield value
    elif isinstance(value, Mapper):
        yield value.insert_sql(1)
    elif isinstance(value, Statement):
        yield value.sql
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)


def _in_functions(module: ModuleType, name: str) -> Iterator[tuple[str, str]]:
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in _outermost_texts(function):
                sql = _read(node, module)
                kept = f"{name}.{function.name}"
                if sql is None:
                    assert kept in UNREADABLE, f"{kept}: {ast.unparse(node)}"
                elif STATEMENT.match(sql):
                    yield kept, sql


def _outermost_texts(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Texts that are no part of a larger one, and no docstring."""
    below: list[ast.AST] = list(function.body)
    while below:
        node = below.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if constant or isinstance(node, (ast.JoinedStr, ast.BinOp)):
            assert isinstance(node, ast.expr)
            yield node
        else:
            below.extend(ast.iter_child_nodes(node))


def _read(node: ast.expr, module: ModuleType) -> str | None:
    """Its text; "" when it is none, or no SQL; None when it depends on what is given."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
        return ""
    try:
        value = eval(  # our own source
            compile(ast.Expression(node), "<sql>", "eval"), dict(vars(module))
        )
    except NameError:
        text = ast.unparse(node)
        return None if re.search(r"SELECT|INSERT|UPDATE|DELETE|_VIEW", text) else ""
    return value if isinstance(value, str) else ""
