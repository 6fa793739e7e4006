"""Invariants that hold at every moment, whatever happened before.

One reading of the whole database: the message as GET shows it, its log, its webhook events, the
ledger. Each is checked against the others, and the status against the spec's table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from typing import Protocol

from agentpost.blobs import account_rows
from agentpost.context import AppContext
from agentpost.db.session import Row, Tx
from agentpost.messages.rules import TurnState
from tests.harness.context import Shape
from tests.links import without_links
from tests.messages.test_status_rules import oracle

TOLD_BY_LOG = {
    "completed": "completed",
    "failed": "failed",
    "stalled_credits": "blocked",
    "resumed": "running",
    "stopped": "cancelled",
    "expired": "expired",
    "unknown": "expired",
}
TOLD_BY_EVENT = {
    "job.completed": {"completed"},
    "job.failed": {"failed", "cancelled"},
    "job.blocked": {"blocked"},
    "job.resumed": {"running"},
    "job.expired": {"expired"},
}
TURN_ENTRIES = {"agent_reply": "ended", "turn_failed": "failed", "turn_busy": "busy"}
EXECUTING = "('running', 'overdue')"


class Harness(Protocol):
    """What is needed of it here (see `tests.harness.context.Harness`)."""

    @property
    def ctx(self) -> AppContext:
        """A context with the database."""
        ...

    @property
    def stored_order(self) -> str:
        """The database's own columns for the order in which rows were stored."""
        ...

    def all(self, sql: str, *params: object) -> list[Row]:
        """Rows of a query."""
        ...

    def shown_in(self, tx: Tx, message_id: str) -> Shape:
        """The message as GET answers it."""
        ...


class Watch:
    """Checks a database again and again, and remembers what was final.

    Args:
        clock_set: the clock is set back now and then, so times are in no order.
    """

    def __init__(self, harness: Harness, *, clock_set: bool = False) -> None:
        self._harness = harness
        self._clock_set = clock_set
        self._final: dict[str, Shape] = {}
        self._recovered: set[str] = set()

    def resent(self, message_id: str) -> None:
        """A busy message was sent again: it may change once more (design: One turn at a time)."""
        self._final.pop(message_id, None)

    def note_recovery(self, job_id: str) -> None:
        """Expired work was looked for again: its messages may change (design: Expiry and
        recover).
        """
        for row in self._harness.all(
            "SELECT message_id FROM message_jobs WHERE job_id = ?", job_id
        ):
            self._final.pop(row[0], None)
            self._recovered.add(row[0])

    def check(self) -> None:
        """Raises `AssertionError` naming what does not hold."""
        self._harness.ctx.db.read_now(self._check)

    def _check(self, tx: Tx) -> None:
        check_credits(tx, self._harness.ctx.settings.running_jobs_max)
        check_turns(tx)
        assert account_rows.different(tx) == [], "the bytes stored are counted wrongly"
        events = events_by_message(tx, self._harness.stored_order)
        for message_id, turn, asked in tx.all("SELECT id, turn_state, asked FROM messages"):
            shown = self._harness.shown_in(tx, message_id)
            check_status(tx, shown, TurnState(turn), asked)
            check_log(tx, shown, turn, in_order=not self._clock_set)
            reported = events.get(message_id, [])
            check_jobs_reported(shown, reported)
            self._check_reported(
                shown, [data for name, data in reported if name.startswith("message.")]
            )
            if shown["final"]:
                kept = self._final.setdefault(message_id, shown)
                changed = [name for name in kept if kept[name] != shown.get(name)]
                assert shown == kept, f"a final message changed: {changed} of {shown['id']}"
            else:
                assert message_id not in self._final, "a message is no longer final"

    def _check_reported(self, shown: Shape, reported: list[Shape]) -> None:
        """Poll = webhook: the event of a status says what GET says (spec: Webhook events 1, 2)."""
        current = [data for data in reported if data["version"] == shown["version"]]
        assert all(data == without_links(shown) for data in current)
        if shown["status"] == "processing":
            return
        assert reported, "a status was reached and no event tells"
        last = reported[-1]
        assert last["status"] == shown["status"]
        if shown["id"] in self._recovered:
            return  # looking again is no arrival at a status: it has no event of its own
        assert last["final"] == shown["final"]
        if shown["final"]:
            assert current == [last], "the last event is not the message as it stays"


def events_by_message(tx: Tx, stored_order: str) -> dict[str, list[tuple[str, Shape]]]:
    """(name, data) of every event in the order stored; each is due at the one endpoint once."""
    found: dict[str, list[tuple[str, Shape]]] = defaultdict(list)
    for message_id, name, data in tx.all(
        f"SELECT message_id, name, data_json FROM events ORDER BY {stored_order}"
    ):
        found[message_id].append((name, json.loads(data)))
    sql = (
        "SELECT e.id FROM events e LEFT JOIN deliveries d ON d.event_id = e.id"
        " GROUP BY e.id HAVING COUNT(d.status) <> 1"
    )
    assert tx.all(sql) == []
    return found


def check_turns(tx: Tx) -> None:
    """A conversation names the one turn that runs in it, and no other (design: One turn at a
    time).
    """
    named = tx.all("SELECT id, turn_message_id FROM conversations WHERE turn_message_id <> ''")
    running = tx.all("SELECT conversation_id, id FROM messages WHERE turn_state = 'running'")
    assert sorted(named) == sorted(running)


def check_credits(tx: Tx, slots: int) -> None:
    """The ledger is the balance, holds belong to work that goes on, at most five run."""
    for account_id, balance, held in tx.all("SELECT id, balance, held FROM accounts"):
        moved: dict[str, int] = {
            row[0]: row[1]
            for row in tx.all(
                "SELECT kind, SUM(amount) FROM ledger WHERE account_id = ? GROUP BY kind",
                (account_id,),
            )
        }
        assert 0 <= held <= balance
        assert balance == moved.get("grant", 0) - moved.get("charge", 0)
        assert held == moved.get("hold", 0) - moved.get("release", 0)
        sql = f"SELECT COUNT(*) FROM jobs WHERE account_id = ? AND state IN {EXECUTING}"
        assert tx.all(sql, (account_id,))[0][0] <= slots
    sums = (
        "SELECT j.state, j.credits_used,"
        " SUM(CASE l.kind WHEN 'hold' THEN amount WHEN 'release' THEN -amount ELSE 0 END),"
        " SUM(CASE l.kind WHEN 'charge' THEN amount ELSE 0 END)"
        " FROM jobs j JOIN ledger l ON l.job_id = j.id GROUP BY j.id"
    )
    for state, used, held, charged in tx.all(sums):
        assert held == 0 or state in EXECUTING, "a job that does not run holds credits"
        late = state in {"overdue", "late_completed", "late_failed", "lost"}
        assert used == charged or (late and used < charged)


def check_status(tx: Tx, shown: Shape, turn: TurnState, asked: str | None) -> None:
    """The status is the spec's table applied to what GET shows (spec: Message status 1-10)."""
    asks = tx.all(
        "SELECT 1 FROM message_jobs l JOIN jobs j ON j.id = l.job_id WHERE l.message_id = ?"
        " AND j.state = 'completed' AND j.question IS NOT NULL",
        (shown["id"],),
    )
    statuses = [job["status"] for job in shown["jobs"]]
    rule, status = oracle(turn, bool(asked or asks), statuses)
    assert shown["status"] == status
    assert (shown["question"] is not None) == (rule == 4)
    closed = turn not in {TurnState.WAITING, TurnState.RUNNING}
    assert shown["final"] == (closed and all(job["final"] for job in shown["jobs"]))
    of_jobs = [file["file_id"] for job in shown["jobs"] for file in job["files"]]
    replied = tx.all("SELECT reply_files FROM messages WHERE id = ?", (shown["id"],))[0][0]
    assert len(shown["files"]) - len(of_jobs) == replied
    assert set(of_jobs) <= {file["file_id"] for file in shown["files"]}


def check_log(tx: Tx, shown: Shape, turn: str, *, in_order: bool) -> None:
    """Log = poll: numbers without gaps, and the last word on turn and jobs is what GET shows."""
    sql = "SELECT seq, type, at, job_id, body_json FROM entries WHERE message_id = ? ORDER BY seq"
    rows = tx.all(sql, (shown["id"],))
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert tx.all("SELECT seq FROM messages WHERE id = ?", (shown["id"],)) == [(len(rows),)]
    assert not in_order or all(earlier[2] <= later[2] for earlier, later in pairwise(rows))
    last_word: dict[str | None, tuple[str, Shape]] = {}
    for _, kind, _, job_id, body in rows:
        if kind != "progress":
            last_word[job_id] = (kind, json.loads(body))
    kind, entry = last_word.pop(None, ("", {}))
    # A busy message that was sent again may end without a reply, which writes no entry.
    silent = (kind, turn) == ("turn_busy", "ended")
    if (turn in {"failed", "busy"} or kind) and not silent:
        assert TURN_ENTRIES[kind] == turn or turn in {"waiting", "running"}
    if turn == "ended":
        assert shown["reply"] == (None if silent else entry.get("text"))
    for job in shown["jobs"]:
        said = last_word.pop(job["job_id"], None)
        if said is not None:
            word = TOLD_BY_LOG[said[1].get("outcome") or said[1]["state"]]
            again = (
                word == "expired" and job["status"] == "running"
            )  # recovered: no entry of its own
            assert word == job["status"] or again
        elif job["role"] == "execution":
            assert job["status"] in {"running", "blocked"}
    assert not last_word, "the log speaks of jobs that the message does not list"


def check_jobs_reported(shown: Shape, reported: list[tuple[str, Shape]]) -> None:
    """The last event of each job says what GET says; only the starting message gets them."""
    last = {data["job_id"]: (name, data) for name, data in reported if name.startswith("job.")}
    for job in shown["jobs"]:
        name, data = last.pop(job["job_id"], (None, None))
        if name is None or data is None:
            assert job["role"] == "follow_up" or job["status"] == "running"
            continue
        assert job["role"] == "execution"
        again = name == "job.expired" and job["status"] == "running"
        assert job["status"] in TOLD_BY_EVENT[name] or again
        assert data["message_id"] == shown["id"]
        if job["final"] and not again:
            assert {**data, "url": ""} == {
                "object": "job",
                "message_id": shown["id"],
                "url": "",
                **without_links(job),
            }
    assert not last
