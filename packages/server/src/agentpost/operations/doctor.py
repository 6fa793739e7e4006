"""The doctor: the stores must work, and every open row must have an owner or a deadline.

It reports overdue rows of every sweep: turns, jobs, expired messages, bytes, uploads, deleted
works, endpoints that only fail, mail. Secrets that no key of this server decrypts are named too,
a place for steps where no worker process comes up, a malware scanner that fails, a log of SQLite
that a reader keeps long, nodes whose clock or address does not fit the others', and a proxy that is
not trusted.
"""

import asyncio
from dataclasses import asdict, dataclass

from agentpost.blobs import audit, identity, space
from agentpost.context import AppContext
from agentpost.db import sqlite_log
from agentpost.db.session import Tx
from agentpost.domain.errors import reason_of
from agentpost.domain.times import seconds
from agentpost.files import scanning
from agentpost.limits import forwarding
from agentpost.nodes import faults, missing_runs
from agentpost.operations import doctor_rows, health, health_state, step_places
from agentpost.requests.redaction import shown_url
from agentpost.transactions import read_transaction
from agentpost.webhooks import secrets as endpoint_secrets

_WARNINGS_MAX = 50
_FAILING_DATABASE = (health_state.DATABASE, "failing")


@dataclass(frozen=True, slots=True)
class Finding:
    """A row that no sweep, runner or node is going to handle."""

    id: str
    state: str
    problem: str

    def as_dict(self) -> dict[str, str]:
        """For printing."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
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
    is_readable = all((each.id, each.state) != _FAILING_DATABASE for each in findings)
    return Report(findings, await warnings(ctx) if is_readable else [])


async def examine(ctx: AppContext, *, full: bool = False) -> list[Finding]:
    """Every store that fails, everything that is overdue, and every turn and job that its node does
    not run; there should be none. Mail counts only when there is a server to send it (design:
    Pages and secrets). With a database that fails nothing else is looked at. ``full``: compare all
    files with the record, however long it takes (`blobs.audit`)."""
    failing = await _failing_stores(ctx)
    if any((each.id, each.state) == _FAILING_DATABASE for each in failing):
        return failing
    if not failing and await identity.is_other(ctx):
        failing.append(Finding(health_state.BLOBS, "other", identity.explain(ctx)))
    if not failing:
        failing += await _little_space(ctx)
        failing += [Finding(*row) for row in await audit.audit(ctx, full=full)]
        failing += [Finding(*row) for row in await audit.audit_sizes(ctx, full=full)]
    failing += await _long_log(ctx)
    failing += await _step_place(ctx)
    if (problem := await scanning.problem(ctx)) is not None:
        text = f"{health_state.PROBLEMS[health_state.SCANNER]} {problem}"
        failing.append(Finding(health_state.SCANNER, "failing", text))
    secrets = await endpoint_secrets.unreadable(ctx)
    failing += [Finding(each, "unreadable", endpoint_secrets.UNREADABLE) for each in secrets]
    return failing + await _find_neglected(ctx)


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


async def _little_space(ctx: AppContext) -> list[Finding]:
    """The file storage, when it is below the floor."""
    await space.refresh(ctx)
    problem = space.shortage(ctx)
    return [Finding(health_state.SPACE, "short", problem)] if problem else []


async def _long_log(ctx: AppContext) -> list[Finding]:
    """SQLite's log, when it is long and a reader keeps it from being emptied."""
    if ctx.settings.database_url.get_secret_value():
        return []
    problem = await asyncio.to_thread(sqlite_log.problem, ctx.settings.data_path / "agentpost.db")
    return [Finding(health_state.DATABASE, "long log", problem)] if problem else []


async def _step_place(ctx: AppContext) -> list[Finding]:
    """Where steps run, tried with one worker process."""
    try:
        problem = await step_places.trouble(ctx.settings)
    except (ValueError, OSError) as error:
        problem = str(error)
    return [Finding(step_places.PLACE, "failing", problem)] if problem else []


@read_transaction
def _find_neglected(tx: Tx, ctx: AppContext) -> list[Finding]:
    settings = ctx.settings
    limits = {
        "turn_limit": seconds(settings.turn_limit_seconds + settings.sweep_seconds),
        "failing_limit": seconds(settings.webhook_disable_seconds),
    }
    mail_is_sent = bool(settings.smtp_url.get_secret_value())
    records = doctor_rows.find_neglected(tx, ctx.clock.now(), **limits, mail_is_sent=mail_is_sent)
    findings = [Finding(*row) for row in records]
    missing = [Finding(id_, "running", text) for id_, text in missing_runs.reported_rows(tx)]
    nodes = [Finding(*row) for row in faults.find_faults(tx, ctx)]
    proxy = forwarding.problem(tx, ctx)
    proxies = [Finding("trusted_proxies", "not trusted", proxy)] if proxy else []
    return [*findings, *missing, *nodes, *proxies]
