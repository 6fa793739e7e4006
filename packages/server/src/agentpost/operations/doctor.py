"""The doctor: the stores must work, and every open row must have an owner or a deadline.

It reports overdue rows of every sweep: turns, jobs, expired messages, bytes, uploads, deleted
works, endpoints that only fail, mail. Secrets that no key of this server decrypts are named too,
a place for steps where no worker process comes up, a malware scanner that fails, a log of SQLite
that a reader keeps long, nodes whose clock or address does not fit the others', and a proxy that is
not trusted.
"""

import asyncio
from typing import NamedTuple

from agentpost.blobs import audit, identity, space
from agentpost.context import AppContext
from agentpost.db import sqlite_log
from agentpost.db.session import Tx
from agentpost.domain.errors import reason_of
from agentpost.domain.times import seconds
from agentpost.files import scanning
from agentpost.limits import forwarding
from agentpost.nodes import faults, ownership
from agentpost.operations import doctor_rows, health, health_state, step_places
from agentpost.requests.redaction import shown_url
from agentpost.transactions import read_transaction
from agentpost.webhooks import secrets as endpoint_secrets

_WARNINGS_MAX = 50
_FAILING_DATABASE = (health_state.DATABASE, "failing")


class Finding(NamedTuple):
    """A row that no sweep, runner or node is going to handle."""

    id: str
    state: str
    problem: str


class Report(NamedTuple):
    """Everything the doctor has to say.

    Args:
        findings: faults of this server; there should be none.
        warnings: faults outside it, see `warnings`.
    """

    findings: list[Finding]
    warnings: list[Finding]


async def report(ctx: AppContext, *, full: bool = False) -> Report:
    """`examine` and `warnings`; no warnings where the database fails."""
    findings = await examine(ctx, full=full)
    is_readable = all(each[:2] != _FAILING_DATABASE for each in findings)
    return Report(findings, await warnings(ctx) if is_readable else [])


async def examine(ctx: AppContext, *, full: bool = False) -> list[Finding]:
    """Every store that fails, everything that is overdue, and every turn and job that its node does
    not run; there should be none. Mail counts only when there is a server to send it (design:
    Pages and secrets). With a database that fails nothing else is looked at. ``full``: compare all
    files with the record, however long it takes (`blobs.audit`)."""
    failing = await _failing_stores(ctx)
    if any(each[:2] == _FAILING_DATABASE for each in failing):
        return failing
    rows: list[tuple[str, str, str | None]] = [*failing]
    if not failing and await identity.is_other(ctx):
        rows.append((health_state.BLOBS, "other", identity.explain(ctx)))
    if not rows:
        await space.refresh(ctx)
        rows.append((health_state.SPACE, "short", space.shortage(ctx)))
        rows += await audit.audit(ctx, full=full)
        rows += await audit.audit_sizes(ctx, full=full)
    rows.append((health_state.DATABASE, "long log", await _long_log(ctx)))
    rows.append((step_places.PLACE, "failing", await _step_place(ctx)))
    if (problem := await scanning.problem(ctx)) is not None:
        text = f"{health_state.PROBLEMS[health_state.SCANNER]} {problem}"
        rows.append((health_state.SCANNER, "failing", text))
    for endpoint_id in await endpoint_secrets.unreadable(ctx):
        rows.append((endpoint_id, "unreadable", endpoint_secrets.UNREADABLE))
    rows += await _find_neglected(ctx)
    return [Finding(id_, state, problem) for id_, state, problem in rows if problem]


@read_transaction
def warnings(tx: Tx, ctx: AppContext) -> list[Finding]:
    """Faults outside this server: webhook endpoints that do not accept deliveries. They are no
    findings, since the server handles them as it should."""
    return [
        Finding(id_, state, f"The endpoint {shown_url(url)} does not accept deliveries.")
        for id_, state, url in doctor_rows.failing_endpoints(tx, _WARNINGS_MAX)
    ]


async def _failing_stores(ctx: AppContext) -> list[Finding]:
    """Database and file storage, used once each."""
    checks = {
        health_state.DATABASE: health.check_database(ctx),
        health_state.BLOBS: ctx.storage.check(ctx.node),
    }
    findings = []
    for name, check in checks.items():
        try:
            async with asyncio.timeout(health.ANSWER_SECONDS):
                await check
        except Exception as error:
            problem = f"{health_state.PROBLEMS[name]} {reason_of(error)}"
            findings.append(Finding(name, "failing", problem))
    return findings


async def _long_log(ctx: AppContext) -> str:
    """What is wrong with SQLite's log, when it is long and a reader keeps it from being emptied."""
    if ctx.settings.database_url.get_secret_value():
        return ""
    return await asyncio.to_thread(sqlite_log.problem, ctx.settings.data_path / "agentpost.db")


async def _step_place(ctx: AppContext) -> str | None:
    """What is wrong with where steps run, tried with one worker process."""
    try:
        return await step_places.trouble(ctx.settings)
    except (ValueError, OSError) as error:
        return str(error)


@read_transaction
def _find_neglected(tx: Tx, ctx: AppContext) -> list[tuple[str, str, str]]:
    settings = ctx.settings
    return [
        *doctor_rows.find_neglected(
            tx,
            ctx.clock.now(),
            turn_limit=seconds(settings.turn_limit_seconds + settings.sweep_seconds),
            failing_limit=seconds(settings.webhook_disable_seconds),
            mail_is_sent=bool(settings.smtp_url.get_secret_value()),
        ),
        *((id_, "running", text) for id_, text in ownership.reported_rows(tx)),
        *faults.find_faults(tx, ctx),
        ("trusted_proxies", "not trusted", forwarding.problem(tx, ctx)),
    ]
