"""Mistakes to make on purpose: each breaks a promise in a way that other tests may not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentpost.credits import actions as credits
from agentpost.db.session import Tx
from agentpost.messages import rows as message_rows, sending
from agentpost.nodes import upkeep
from agentpost.nodes.membership import Nodes
from agentpost.nodes.reconciler import RunReconciler
from agentpost.nodes.upkeep import Left
from agentpost.record import journal_rows, writer
from agentpost.webhooks import delivery_rows, outbox
from agentpost.webhooks.endpoint_rules import Attempted

Mistake = Callable[[pytest.MonkeyPatch], None]


def forget_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """Who was fenced may still write."""

    def count_call(tx: Tx, job_id: str, epoch: int) -> None:
        tx.execute("UPDATE jobs SET calls = calls + 1 WHERE id = ?", (job_id,))

    patch.setattr(writer, "_owns", lambda job, epoch: True)
    patch.setattr(writer, "count_call", count_call)


def leave_the_dead_their_work(patch: pytest.MonkeyPatch) -> None:
    """Nobody takes over what a dead node ran."""

    async def nothing(*_: object) -> tuple[list[Left], list[Left]]:
        return [], []

    patch.setattr(upkeep, "left_behind", nothing)


def try_a_start_once(patch: pytest.MonkeyPatch) -> None:
    """A single process takes up what was open when it starts, and never looks again."""
    watch = Nodes.watch

    async def of_many(self: Nodes) -> None:
        if self._heart is not None:
            await watch(self)

    patch.setattr(Nodes, "watch", of_many)


def run_what_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """A job that is taken over does not know what it has done."""
    patch.setattr(journal_rows, "all_", lambda *_: {})


def miss_a_lost_run(patch: pytest.MonkeyPatch) -> None:
    """What a node owns and does not run is not noticed."""

    async def reconcile(self: RunReconciler) -> None:
        """Nothing."""

    patch.setattr(RunReconciler, "reconcile", reconcile)


def try_a_webhook_once(patch: pytest.MonkeyPatch) -> None:
    """A receiver that is down has missed it."""
    record = delivery_rows.record
    patch.setattr(delivery_rows, "record", lambda tx, attempt, next_at: record(tx, attempt, None))


def count_a_refusal_as_received(patch: pytest.MonkeyPatch) -> None:
    """What the receiver refused is done with."""
    record = delivery_rows.record

    def received(tx: Tx, attempt: Attempted, next_at: int | None) -> bool:
        return record(tx, replace(attempt, error=None), None)

    patch.setattr(delivery_rows, "record", received)


def charge_twice(patch: pytest.MonkeyPatch) -> None:
    """A step costs its price and is charged for once more, in balance and ledger alike."""
    once = credits.charge_held

    def twice(tx: Any, account: Any, cost: int, *rest: Any) -> None:
        once(tx, account, cost, *rest)
        credits.charge_done(tx, account, cost, *rest)

    patch.setattr(credits, "charge_held", twice)


def keep_a_hold(patch: pytest.MonkeyPatch) -> None:
    """What was held for a job stays held when it ends."""
    patch.setattr(credits, "release_all", lambda *_: 0)


def forget_the_key(patch: pytest.MonkeyPatch) -> None:
    """A request that is repeated makes another message."""

    def free(tx: Any, ctx: Any, caller: Any, new: Any, now: int) -> None:
        if new.idempotency_key is not None:
            holder = message_rows.by_idempotency_key(tx, caller.key_id, new.idempotency_key)
            if holder is not None:
                writer.free_idempotency_key(tx, holder.id)

    patch.setattr(sending, "_replay", free)


def tell_nobody_of_jobs(patch: pytest.MonkeyPatch) -> None:
    """What happens to a job is no event."""
    patch.setattr(outbox, "job_changed", lambda *_, **__: None)


MISTAKES: tuple[Mistake, ...] = (
    forget_the_epoch,
    leave_the_dead_their_work,
    try_a_start_once,
    run_what_is_recorded,
    miss_a_lost_run,
    try_a_webhook_once,
    count_a_refusal_as_received,
    charge_twice,
    keep_a_hold,
    forget_the_key,
    tell_nobody_of_jobs,
)
