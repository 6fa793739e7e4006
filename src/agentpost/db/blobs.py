"""Which bytes the record names: files of works, what came with messages, and uploads."""

from __future__ import annotations

from agentpost.db.session import Tx

_BEYOND = "~"
"""Sorts behind every key and id: they are letters, digits, ``_`` and ``/``."""
_NEWEST_FILES = "SELECT blob FROM files WHERE blob < ? ORDER BY blob DESC LIMIT ?"
_NEWEST_ATTACHMENTS = (
    "SELECT blob FROM attachments WHERE message_id < ? AND blob IS NOT NULL"
    " ORDER BY message_id DESC, n DESC LIMIT ?"
)


def newest(tx: Tx, limit: int) -> list[str]:
    """Keys of the bytes that were recorded last: up to ``limit`` of files, and of attachments."""
    return [
        row[0]
        for sql in (_NEWEST_FILES, _NEWEST_ATTACHMENTS)
        for row in tx.all(sql, (_BEYOND, limit))
    ]
