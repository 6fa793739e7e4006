"""Deleting an account: nothing of it is left in any table, and all of another one is."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentpost.account_data import deletion
from agentpost.accounts import actions as accounts
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import Refusal
from agentpost.files import views
from agentpost.record import history_rows
from agentpost.record.records import AttachmentRecord
from tests.harness.driver import manual_harness
from tests.harness.rows import insert
from tests.schema import TABLES, Column

OF_NO_ACCOUNT = {
    "meta": "values of the installation",
    "nodes": "its processes",
    "operator_actions": "the audit log says that the account was deleted",
    "pending_deletions": "names of blobs, until they are gone",
    "reader_locks": "of reads that are held now",
}
FIXED: dict[tuple[str, str], Any] = {
    ("messages", "turn_state"): "ended",
    ("messages", "status"): "completed",
    ("messages", "reason"): None,
    ("messages", "notes_json"): "[]",
    ("messages", "expires_at"): 2**60,
    ("messages", "jobs"): 1,
    ("jobs", "state"): "completed",
    ("jobs", "kind"): "execution",
    ("jobs", "reason"): None,
    ("jobs", "ceiling"): None,
    ("message_jobs", "role"): "execution",
    ("works", "deleted_at"): None,
    ("works", "state_json"): "{}",
    ("files", "kind"): "data",
    ("files", "size"): 5,
    ("attachments", "size"): 7,
    ("uploads", "status"): "ready",
    ("uploads", "size"): 11,
    ("uploads", "message_id"): None,
    ("account_storage", "bytes"): 23,
    ("deliveries", "status"): "delivered",
    ("users", "role"): "owner",
    ("schedules", "missed"): "skip",
    ("schedules", "status"): "paused",
    ("schedules", "last_outcome"): None,
    ("endpoints", "events_json"): '["*"]',
    ("endpoints", "url"): "https://example.com/path-token",
    ("endpoints", "disabled_at"): None,
    ("endpoints", "disabled_reason"): None,
    ("endpoints", "failing_since"): None,
    ("keys", "revoked_at"): None,
}
OWNERS = {"calls": "msg", "signals": "job", "agent_lines": "msg", "conversations": "key"}


def value(table: str, column: Column, mark: str, account_id: str) -> Any:
    """Of a column of a row of the account; texts end with its mark."""
    if (table, column.name) in FIXED:
        return FIXED[table, column.name]
    if column.name == "account_id":
        return account_id
    if column.type in ("INTEGER", "BIGINT"):
        return None if column.nullable else 1
    if column.name == "id":
        return f"{table[:-1].replace('message', 'msg')}{mark}"
    if column.name == "owner":
        return f"{OWNERS[table]}{mark}"
    if column.name.endswith("_id"):
        return f"{column.name[:-3].replace('message', 'msg')}{mark}"
    if column.name == "blob":
        return f"{table}/{mark}"
    if column.name == "email":  # of a mail for a user of the account
        return f"users{mark}@example.com"
    return None if column.nullable else f"x{mark}"


def fill(mark: str, account_id: str, tx: Tx) -> None:
    """A row of the account in every table that may have one."""
    for table, columns in TABLES.items():
        if table in OF_NO_ACCOUNT or table == "accounts":
            continue
        row = {c.name: value(table, c, mark, account_id) for c in columns}
        if table == "account_storage":
            tx.execute("DELETE FROM account_storage WHERE account_id = ?", (account_id,))
        insert(tx, table, **row)
    loose = {"id": f"loose{mark}", "account_id": account_id}
    insert(tx, "events", name="x", data_json="{}", at=1, **loose)


def rows(tx: Tx) -> dict[str, list[str]]:
    return {name: sorted(map(str, tx.all(f"SELECT * FROM {name}"))) for name in TABLES}


def of(found: dict[str, list[str]], *marks: str) -> dict[str, list[str]]:
    named = {
        name: [r for r in lines if any(m in r for m in marks)] for name, lines in found.items()
    }
    return {name: lines for name, lines in named.items() if lines and name not in OF_NO_ACCOUNT}


async def test_no_table_has_anything_of_it_and_others_are_whole(
    ctx: AppContext, account: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = (await accounts.create(ctx, "other@example.com", "Other", 3)).id
    for mark, each in (("_goes", account), ("_stays", other)):
        await ctx.db.write(partial(fill, mark, each))
    before = await ctx.db.read(rows)
    assert set(of(before, "_goes", account)) == set(TABLES) - set(OF_NO_ACCOUNT)

    monkeypatch.setattr(deletion, "_ROWS", 1)  # as many transactions as there can be
    doomed = await deletion.look(ctx, "owner@example.com")
    assert (doomed.counts["messages"], doomed.counts["stored_bytes"]) == (1, 23)
    await deletion.begin(ctx, account)
    with pytest.raises(ValueError, match="being deleted"):
        await accounts.set_disabled(ctx, account, disabled=False)
    await until_done(ctx, account, clock)

    after = await ctx.db.read(rows)
    assert of(after, "_goes", account, "owner@example.com") == {}
    assert of(after, "_stays", other) == of(before, "_stays", other)
    due = {line.split("'")[1] for line in after["pending_deletions"]}
    assert {"files/_goes", "attachments/_goes", "incoming/upload_goes"} <= due
    assert not any("_stays" in blob for blob in due)
    await deletion.sweep(ctx)
    with pytest.raises(Refusal, match="no such account"):
        await deletion.begin(ctx, account)


async def until_done(ctx: AppContext, account_id: str, clock: ManualClock) -> None:
    """As if every process that goes on with it was killed at some transaction."""
    write, allowed = ctx.db.write, 1

    async def killed(fn: Callable[[Tx], Any]) -> Any:
        nonlocal allowed
        if allowed == 0:
            raise ConnectionError
        allowed -= 1
        return await write(fn)

    for n in range(400):
        allowed = 1 + n % 5
        ctx.db.write = killed  # type: ignore[method-assign]
        try:
            done = await deletion.step(ctx, account_id)
        except ConnectionError:
            continue
        finally:
            ctx.db.write = write  # type: ignore[method-assign]
        if done:
            return
        clock.advance(1)
    raise AssertionError("it does not end")


async def test_running_work_is_stopped_first(tmp_path: Path) -> None:
    async with manual_harness(tmp_path) as at:
        ctx, account_id = at.ctx, at.caller.account_id
        _, owned = await at.working()
        running = (await at.accept("runs", conversation="one")).message.id
        await at.accept("waits", conversation="one")
        await ctx.db.write(lambda tx: tx.execute("UPDATE users SET role = 'owner'"))
        sent = AttachmentRecord(running, 0, "sent.txt", blob="files/sent")
        await ctx.db.write(lambda tx: history_rows.ATTACHMENTS.insert(tx, sent))
        assert (await views.find(ctx, None, f"{running}/0")).name == "sent.txt"
        await deletion.begin(ctx, account_id)
        with pytest.raises(Refusal):  # links end with the first transaction
            await views.find(ctx, None, f"{running}/0")
        while not await deletion.step(ctx, account_id):
            at.clock.advance(1)
        assert owned.job_id in at.placed.aborted
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever its runner writes is too late
            await at.end(running)
        found = await ctx.db.read(rows)
        assert of(found, account_id, running, owned.job_id) == {}
        for table in ("messages", "entries", "calls", "jobs", "works", "signals"):
            assert await at.count(table) == 0, table


async def test_the_last_operators_account_stays(ctx: AppContext, account: str) -> None:
    await ctx.db.write(
        lambda tx: tx.execute("UPDATE users SET role = 'operator' WHERE account_id = ?", (account,))
    )
    with pytest.raises(Refusal, match="last operator"):
        await deletion.begin(ctx, account)
