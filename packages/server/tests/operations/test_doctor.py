"""What the doctor finds of sweeps that hang, and that it finds nothing while they run.

Turns, jobs, messages and bytes are in test_sweeping.py and test_blobs.py.
"""

import socket
from dataclasses import replace

import pytest
from pydantic import SecretStr

from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.jobs import work_rows
from agentpost.mail import actions as mail
from agentpost.mail.actions import SmtpServer
from agentpost.operations import doctor
from agentpost.retention import actions as retention
from agentpost.uploads import actions as uploads
from agentpost.uploads.actions import NewUpload
from agentpost.webhooks import deliveries, endpoints
from agentpost.webhooks.endpoint_rules import Attempted
from agentpost.webhooks.records import EndpointRecord
from tests.harness.context import work_record

HOUR = 3_600
DAY = 24 * HOUR


async def findings(ctx: AppContext) -> list[tuple[str, str, str]]:
    return [(each.id, each.state, each.problem) for each in await doctor.examine(ctx)]


async def test_an_upload_that_stays(ctx: AppContext, account: str, clock: ManualClock) -> None:
    made, _ = await uploads.create(ctx, account, NewUpload("a.csv", 10, None))
    clock.advance(ctx.settings.upload_keep_seconds + HOUR)
    assert await findings(ctx) == []
    clock.advance(1)
    problem = "expired more than an hour ago and was not deleted"
    assert await findings(ctx) == [(made.id, "pending", problem)]
    await uploads.sweep(ctx)
    assert await findings(ctx) == []


async def test_a_deleted_work_that_stays(ctx: AppContext, account: str, clock: ManualClock) -> None:
    now = clock.now()
    work = work_record(account, now)

    def fn(tx: Tx) -> None:
        work_rows.WORKS.insert(tx, work)
        work_rows.delete(tx, work.id, now)

    await ctx.db.write(fn)
    clock.advance(DAY)
    assert await findings(ctx) == []
    clock.advance(1)
    problem = "was deleted more than a day ago, but its rows remain"
    assert await findings(ctx) == [(work.id, "deleted", problem)]
    await retention.deleted_works(ctx)
    assert await findings(ctx) == []


async def failing(ctx: AppContext, account: str, clock: ManualClock) -> EndpointRecord:
    """An endpoint that failed once and has a retry waiting."""
    made = await endpoints.create(ctx, account, "http://127.0.0.1/", None, None)
    await deliveries.send_test(ctx, account, made.id)
    await fail_once(ctx, made.id, clock)
    return made


async def fail_once(ctx: AppContext, endpoint_id: str, clock: ManualClock) -> None:
    """What is due for the endpoint is tried, and fails."""
    claimed = await deliveries.record_and_claim(ctx, [], [], {endpoint_id: 8})
    failed = [Attempted(each, clock.now(), 500, "no", "", 1) for each in claimed]
    await deliveries.record_and_claim(ctx, failed, [], {})


async def test_an_endpoint_that_stays_on(ctx: AppContext, account: str, clock: ManualClock) -> None:
    made = await failing(ctx, account, clock)
    limit = ctx.settings.webhook_disable_seconds

    async def failing_for(seconds: float) -> None:
        since = clock.now() - round(seconds * 1_000_000)
        sql = "UPDATE endpoints SET failing_since = ? WHERE id = ?"
        await ctx.db.write(lambda tx: tx.execute(sql, (since, made.id)))

    await failing_for(limit + 10)
    assert await findings(ctx) == []
    await failing_for(limit + 11)
    problem = "has failed for too long and was not disabled"
    assert await findings(ctx) == [(made.id, "failing", problem)]
    await deliveries.turn_off_failing(ctx)
    assert await findings(ctx) == []


async def test_an_endpoint_with_a_chance_left_is_fine(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    """Its retry is due, or there is none."""
    made = await failing(ctx, account, clock)
    clock.advance(ctx.settings.webhook_disable_seconds + DAY)
    await deliveries.turn_off_failing(ctx)
    assert await findings(ctx) == []
    sql = "UPDATE deliveries SET status = 'failed', next_attempt_at = NULL WHERE endpoint_id = ?"
    await ctx.db.write(lambda tx: tx.execute(sql, (made.id,)))
    await deliveries.turn_off_failing(ctx)
    assert await findings(ctx) == []
    assert (await endpoints.get(ctx, account, made.id))[0].disabled_at is None


@pytest.fixture
async def waiting(ctx: AppContext, account: str, clock: ManualClock) -> str:
    """The id of a mail that is to be sent."""
    endpoint = await failing(ctx, account, clock)
    await ctx.db.write(lambda tx: mail.endpoint_turned_off(tx, endpoint, clock.now()))
    (written,) = await mail.mail_queue(ctx, account)
    return written.id


async def test_mail_that_nobody_sends(ctx: AppContext, clock: ManualClock, waiting: str) -> None:
    """Without a mail server that is as it should be."""
    clock.advance(HOUR)
    assert await findings(with_mail(ctx)) == []
    clock.advance(1)
    assert await findings(with_mail(ctx)) == [(waiting, "tried 0 times", "its mail was not sent")]
    assert await findings(ctx) == []


async def test_mail_that_cannot_be_sent(ctx: AppContext, clock: ManualClock, waiting: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        server = SmtpServer.parse(f"smtp://127.0.0.1:{closed.getsockname()[1]}")
    for _ in range(3):
        assert await findings(with_mail(ctx)) == []
        await mail.send_due(ctx, server)
        clock.advance(mail.RETRY_SECONDS)
    assert await findings(with_mail(ctx)) == [(waiting, "tried 3 times", "its mail was not sent")]
    assert await findings(ctx) == []


def with_mail(ctx: AppContext) -> AppContext:
    """The same with a mail server."""
    smtp = {"smtp_url": SecretStr("smtp://127.0.0.1:1")}
    return replace(ctx, settings=ctx.settings.model_copy(update=smtp))
