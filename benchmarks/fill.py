"""Fills a SQLite database with copies of what the server wrote for two messages."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

DAYS = 6
"""The copies are spread over so many days back: nothing of them is to be purged yet."""
CONVERSATIONS = 1_000
JOB_EVERY = 10
"""Each tenth message has a job. A tenth of each kind is in one conversation."""
CHUNK = 20_000
SECOND = 1_000_000
TIMES = (
    "at",
    "created_at",
    "updated_at",
    "started_at",
    "settled_at",
    "joined_at",
    "turn_began_at",
    "turn_wait_deadline",
    "reply_deadline",
    "expires_at",
    "watch_by",
)
OF_MESSAGE = {
    "messages": "id",
    "entries": "message_id",
    "signals": "owner",
    "calls": "owner",
    "message_jobs": "message_id",
}
OF_JOB = {"jobs": "id", "signals": "owner", "calls": "owner"}


def fill(path: Path, messages: int, *, echo: str, job: str, large: str) -> None:
    """Add so many messages, and as many lines of the ledger.

    Args:
        path: the database; no server uses it.
        messages: how many, in all.
        echo, job: ids of the messages to copy: one was echoed, one had a job of one step.
        large: the name of the conversation that gets a tenth of them.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA cache_size=-400000")
        db.execute("PRAGMA temp_store=MEMORY")
        _Fill(db, messages, echo, job, large).run()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class _Fill:
    def __init__(
        self, db: sqlite3.Connection, messages: int, echo: str, job: str, large: str
    ) -> None:
        self.db = db
        self.messages = messages
        self.echo, self.job = echo, job
        self.began = int(time.time() * SECOND)
        self.job_id = str(self._one("SELECT job_id FROM message_jobs WHERE message_id = ?", job))
        self.work_id = str(self._one("SELECT work_id FROM jobs WHERE id = ?", self.job_id))
        self.conversation = str(
            self._one("SELECT conversation_id FROM messages WHERE id = ?", echo)
        )
        self.account = str(self._one("SELECT account_id FROM messages WHERE id = ?", echo))
        self.large = str(self._one("SELECT id FROM conversations WHERE name = ?", large))
        self.turns = int(str(self._one("SELECT turns FROM conversations WHERE id = ?", self.large)))

    def run(self) -> None:
        """In chunks: one transaction each."""
        self.db.execute(
            "CREATE TEMP TABLE n (i INTEGER PRIMARY KEY, at INTEGER, conversation TEXT,"
            " turn INTEGER)"
        )
        self._conversations()
        for first in range(0, self.messages, CHUNK):
            self.db.execute("BEGIN")
            self._number(first, min(first + CHUNK, self.messages))
            self._copy_message(self.echo, f"i % {JOB_EVERY} <> 0")
            self._copy_message(self.job, f"i % {JOB_EVERY} = 0")
            self._copy(OF_JOB, self.job_id, f"i % {JOB_EVERY} = 0")
            self._copy({"works": "id"}, self.work_id, f"i % {JOB_EVERY} = 0")
            self._requests()
            self._ledger()
            self.db.execute("COMMIT")
        self.db.execute(
            "UPDATE conversations SET works = works + 1, turns = COALESCE((SELECT MAX(turn_no)"
            " FROM messages m WHERE m.conversation_id = conversations.id), 0)"
            " WHERE turn_message_id IS NULL"
        )

    def _one(self, sql: str, value: str) -> object:
        return self.db.execute(sql, (value,)).fetchone()[0]

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self.db.execute(f"PRAGMA table_info({table})")]

    def _number(self, first: int, end: int) -> None:
        """Numbers of a chunk's messages, with their time and place. Times end an hour ago."""
        self.db.execute("DELETE FROM n")
        spread = (DAYS * 86_400 - 3_600) * SECOND
        self.db.execute(
            "WITH RECURSIVE c(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM c WHERE i + 1 < ?)"
            " INSERT INTO n SELECT i, ? + CAST(? * (i * 1.0 / ?) AS INTEGER),"
            " CASE WHEN i / 10 % 10 = 0 THEN ? ELSE printf('cnv_%032x', i % ?) END,"
            " CASE WHEN i / 10 % 10 = 0 THEN ? + i / 100 * 10 + i % 10 + 1 ELSE i / ? + 1 END"
            " FROM c",
            (
                first,
                end,
                self.began - DAYS * 86_400 * SECOND,
                spread,
                self.messages,
                self.large,
                CONVERSATIONS,
                self.turns,
                CONVERSATIONS,
            ),
        )

    def _conversations(self) -> None:
        given = {"id": "printf('cnv_%032x', i)", "name": "'filled-' || i"}
        columns = self._columns("conversations")
        shown = ", ".join(given.get(name, f"t.{name}") for name in columns)
        self.db.execute(
            "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i + 1 < ?)"
            f" INSERT INTO conversations SELECT {shown} FROM conversations t, c WHERE t.id = ?",
            (CONVERSATIONS, self.conversation),
        )

    def _copy_message(self, message_id: str, which: str) -> None:
        self._copy(OF_MESSAGE, message_id, which)

    def _copy(self, tables: dict[str, str], owner: str, which: str) -> None:
        began = int(owner.partition("_")[2][:14], 16)
        for table, key in tables.items():
            shown = ", ".join(self._copied(table, name, began) for name in self._columns(table))
            self.db.execute(
                f"INSERT INTO {table} SELECT {shown} FROM {table} t, n WHERE t.{key} = ?"
                f" AND {which}",
                (owner,),
            )

    def _copied(self, table: str, name: str, began: int) -> str:
        """A column of a copy: ids and times of its own, ids of the templates replaced by theirs."""
        if name in TIMES:
            return f"t.{name} + n.at - {began}"
        if name == "turn_no":
            return "n.turn"
        if name == "conversation_id":
            return "n.conversation"
        if name in ("account_id", "key_id"):
            return f"t.{name}"
        if table == "signals" and name == "id":
            return f"t.{name}"  # beside an owner of its own
        text = f"t.{name}"
        for template in (self.echo, self.job, self.job_id, self.work_id):
            prefix = template.partition("_")[0]
            text = f"replace({text}, '{template}', {self._id(prefix)})"
        numbers = {
            row[1] for row in self.db.execute(f"PRAGMA table_info({table})") if row[2] != "TEXT"
        }
        return f"t.{name}" if name in numbers else text

    @staticmethod
    def _id(prefix: str) -> str:
        return f"printf('{prefix}_%014x%018x', n.at, n.i)"

    def _requests(self) -> None:
        """One line for each message: that of an echo's POST."""
        self.db.execute(
            "INSERT INTO requests SELECT printf('req_%014x%018x', n.at, n.i), n.at,"
            f" {', '.join('t.' + name for name in self._columns('requests')[2:])}"
            " FROM n, (SELECT * FROM requests WHERE method = 'POST' ORDER BY id DESC LIMIT 1) t"
        )

    def _ledger(self) -> None:
        """As many lines as messages: of each job, five holds that were given back."""
        job = f"(n.i - n.i % {JOB_EVERY})"
        self.db.execute(
            "INSERT INTO ledger (id, account_id, kind, amount, job_id, call_n, note, at)"
            " SELECT printf('led_%014x%018x', n.at, n.i), ?,"
            " CASE WHEN n.i % 2 = 0 THEN 'hold' ELSE 'release' END, 1000,"
            f" printf('exe_%014x%018x', (SELECT at FROM n m WHERE m.i = {job}), {job}), n.i % 10,"
            " '', n.at FROM n",
            (self.account,),
        )
