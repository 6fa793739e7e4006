"""An account in which every page of the web app has something to show."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from agentpost.accounts import actions as accounts
from agentpost.accounts.actions import DEFAULT_EMAIL
from agentpost.accounts.rows import LEDGER
from agentpost.clock import new_id
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.times import DAY, HOUR, MINUTE, SECOND
from agentpost.jobs.rules import JobState
from agentpost.mail import rows as mail_rows
from agentpost.nodes import rows as node_rows
from agentpost.record import history_rows
from agentpost.record.events import EventName
from agentpost.record.records import (
    AttachmentRecord,
    LedgerRecord,
    MailRecord,
    RequestRecord,
    WorkRecord,
)
from agentpost.requests import rows as request_rows
from agentpost.schedules import actions as schedules
from agentpost.schedules.actions import NewSchedule
from agentpost.schedules.rules import Missed, run_key
from agentpost.users import actions as users
from agentpost.users.role_rules import Role
from agentpost.webhooks import deliveries, delivery_rows, endpoints
from agentpost.webhooks.endpoint_rules import Attempted
from agentpost.webhooks.records import AttemptRecord
from tests.harness.context import request_record
from tests.harness.rows import insert
from tests.web.site import Site

DAYS = 14
SALES = b"month,revenue\nJan,120\nFeb,135\n"
ASKED = (
    "Chart revenue by month",
    "Which region grew most?",
    "Write a report for the board",
    "Translate the manual into German",
    "Compare our prices with last year’s",
    "Draw the organisation chart",
)
REPLIED = (
    "I am drawing it: revenue by month, one line per region.",
    "South grew most: 182 against 120 in January.",
    "The report has four pages. It begins with the summary you asked for.",
)
ERRORS = (
    ("rate_limited", 429),
    ("bad_request", 400),
    ("not_found", 404),
    ("bad_request", 400),
)


@dataclass(frozen=True, slots=True)
class Busy:
    """The ids of what the pages are about."""

    account: str
    key: str
    message: str
    work: WorkRecord
    request: str
    endpoint: str
    delivery: str
    schedule: str


def fill(site: Site) -> Busy:
    """Make the operator's account a busy one."""
    made = asyncio.run(accounts.create(site.ctx, DEFAULT_EMAIL, "Northwind Traders", 250))
    asyncio.run(users.set_role(site.ctx, DEFAULT_EMAIL, Role.OPERATOR))
    for email in ("ada@example.com", "bob@example.com"):
        site.user(email, Role.MEMBER, account_id=made.id)
    owner = made.id
    key = asyncio.run(accounts.create_key(site.ctx, owner, "checkout, production", 90 * 86_400.0))
    asyncio.run(accounts.create_key(site.ctx, owner, "nightly report"))
    gone = asyncio.run(accounts.create_key(site.ctx, owner, "old laptop"))
    asyncio.run(accounts.revoke_key(site.ctx, gone.record.id, owner))
    works = [_work(site, owner, n) for n in range(3)]
    used = key.record.id
    newest = [_message(site, owner, used, works[n % 3], n) for n in range(31, 67)][-1]
    _history(site, owner)
    request = _requests(site, owner, used, newest)
    endpoint, delivery = _webhooks(site, owner)
    _timeline(site, newest, works[0])
    _files(site, newest, works[0])
    _events(site, newest, owner, endpoint)
    site.write(lambda tx: mail_rows.MAILS.insert(tx, _mail(site, owner)))
    site.write(lambda tx: node_rows.beat(tx, "node_a", site.clock.now() - HOUR))
    schedule = _schedules(site, owner, used, newest)
    return Busy(owner, key.record.id, newest, works[0], request, endpoint, delivery, schedule)


def _schedules(site: Site, owner: str, key_id: str, message_id: str) -> str:
    """Three of them: one runs, one is paused, one was refused; the id of the first."""
    made = []
    for cron, text in (
        ("0 9 * * 1-5", "Write the report of yesterday for the sales team"),
        ("*/15 * * * *", "Look at the inbox"),
        ("30 6 1 * *", "Close the month"),
    ):
        site.clock.advance(1)
        new = NewSchedule(cron, None, "Europe/Berlin", Missed.SKIP, {"message": text})
        made.append(asyncio.run(schedules.create_for_key(site.ctx, owner, key_id, new)).id)
    asyncio.run(schedules.pause(site.ctx, owner, made[1], True))
    planned = site.clock.now() - HOUR
    ran = "UPDATE schedules SET last_at = ?, last_planned_at = ?, last_outcome = ?"

    def fn(tx: Tx) -> None:
        values = (planned, planned, "sent", message_id, made[0])
        tx.execute(f"{ran}, last_message_id = ? WHERE id = ?", values)
        error = "too_many: The account may send 100 messages an hour."
        tx.execute(
            f"{ran}, last_error = ? WHERE id = ?", (planned, planned, "refused", error, made[2])
        )
        key = run_key(made[0], planned)
        tx.execute("UPDATE messages SET idempotency_key = ? WHERE id = ?", (key, message_id))

    site.write(fn)
    return made[0]


def _work(site: Site, owner: str, n: int) -> WorkRecord:
    site.clock.advance(60)
    work = site.work(owner, title=ASKED[n], text=REPLIED[n])
    site.job(work, (JobState.COMPLETED, JobState.RUNNING, JobState.FAILED)[n], "Drawing")
    return work


def _message(site: Site, owner: str, key_id: str, work: WorkRecord, n: int) -> str:
    site.clock.advance(60)
    message_id = new_id(ids.MESSAGE, site.clock.now())
    failed, asks = n % 11 == 5, n % 13 == 4
    status = "failed" if failed else "needs_input" if asks else "completed"
    site.message(
        ASKED[n % len(ASKED)],
        owner,
        id=message_id,
        key_id=key_id,
        status=status,
        reason="turn_failed" if failed else None,
        reply=None if failed else REPLIED[n % len(REPLIED)],
        conversation_id=work.conversation_id,
        conversation=f"customer-{4711 + n % 3}",
        turn_no=n + 1,
        turn_state="ended",
        turn_began_at=site.clock.now() + SECOND // 5,
        updated_at=site.clock.now() + SECOND,
        metadata_json='{"order": "4711"}',
        expires_at=site.clock.now() + 30 * DAY,
    )
    return message_id


def _history(site: Site, owner: str) -> None:
    """Two weeks of charges and messages."""
    now = site.clock.now()
    times = [
        now - n * DAY - each * MINUTE for n in range(DAYS) for each in range(9 + (n * 17) % 29)
    ]

    def fn(tx: Tx) -> None:
        for n, at in enumerate(times):
            amount = 60_000 + n % 7 * 20_000
            row = LedgerRecord(new_id(ids.LEDGER, at), owner, "charge", amount, at, note="a chart")
            LEDGER.insert(tx, row)
        _copy_messages(tx, owner, [at - DAY for at in times])

    site.write(fn)


def _requests(site: Site, owner: str, key_id: str, message_id: str) -> str:
    """A hundred of them; the id of one that was refused."""
    made = [_request(site, owner, key_id, message_id, n) for n in range(100)]
    for first in range(0, len(made), 10):
        some = made[first : first + 10]
        site.write(lambda tx, some=some: request_rows.REQUESTS.insert_all(tx, some))  # type: ignore[misc]
    return next(each.id for each in made if each.error)


def _request(site: Site, owner: str, key_id: str, message_id: str, n: int) -> RequestRecord:
    at = site.clock.now() - n * MINUTE
    error, status = (None, 201 if n % 2 else 200)
    if n % 9 == 4:
        error, status = ERRORS[n % 4]
    answer = {"id": message_id} if error is None else {"error": {"code": error}}
    return request_record(
        owner,
        at,
        key_id=key_id,
        method="POST" if n % 2 else "GET",
        path="/v1/messages" if n % 2 else f"/v1/messages/{message_id}?wait=45",
        status=status,
        error=error,
        ms=4 + n * 7 % 90,
        request_bytes=40 if n % 2 else 0,
        response_bytes=60,
        request_body='{"message": "Chart revenue by month"}' if n % 2 else None,
        response_body=json.dumps(answer),
        message_id=message_id if error is None else None,
    )


def _webhooks(site: Site, owner: str) -> tuple[str, str]:
    """A good endpoint and one that is off; the first's id and that of a delivery of it."""
    return asyncio.run(_send(site, owner))


async def _send(site: Site, owner: str) -> tuple[str, str]:
    ctx = site.ctx
    bad = await endpoints.create(ctx, owner, "https://old.example.com/in", None, "the old shop")
    good = await endpoints.create(ctx, owner, "https://shop.example.com/hooks", None, "orders")
    for n in range(24):
        site.clock.advance(30)
        sent = await deliveries.send_test(ctx, owner, good.id)
        if n < 2:
            await deliveries.send_test(ctx, owner, bad.id)
        wanted = dict.fromkeys(await deliveries.due_endpoints(ctx), 10)
        claimed = await deliveries.record_and_claim(ctx, [], [], wanted)
        done = []
        for each in claimed:
            fails = each.endpoint_id == bad.id or n % 8 == 3
            code, error = (503, "it answered 503") if fails else (200, None)
            text = "<h1>503 Service Unavailable</h1>" if fails else '{"ok": true}'
            ms, headers = 40 + n * 13 % 90, "Server: nginx\nContent-Type: application/json"
            done.append(Attempted(each, site.clock.now(), code, error, text, ms, headers))
        await deliveries.record_and_claim(ctx, done, [], {})
    await ctx.db.write(
        lambda tx: tx.execute(
            "UPDATE endpoints SET disabled_at = ?, disabled_reason = 'failing' WHERE id = ?",
            (site.clock.now(), bad.id),
        )
    )
    return good.id, sent.event_id


def _timeline(site: Site, message_id: str, work: WorkRecord) -> None:
    """A job of the message with its calls and the log."""

    def fn(tx: Tx) -> None:
        row = tx.one("SELECT created_at FROM messages WHERE id = ?", (message_id,))
        assert row is not None
        began = row[0]
        job = tx.one("SELECT id FROM jobs WHERE work_id = ?", (work.id,))
        assert job is not None
        tx.execute(
            "UPDATE jobs SET started_at = ?, settled_at = ?, calls = 3, credits_used = 1250000,"
            " message_id = ? WHERE id = ?",
            (began + SECOND, began + 9 * SECOND, message_id, job[0]),
        )
        tx.execute("UPDATE messages SET jobs = 1 WHERE id = ?", (message_id,))
        of = {"message_id": message_id, "job_id": job[0]}
        insert(tx, "message_jobs", role="execution", joined_at=began, **of)
        calls = [(message_id, 1, '["start", "Chart"]', began + SECOND)]
        calls += [
            (job[0], n, f'["{name}"]', began + n * 2 * SECOND)
            for n, name in enumerate(("progress", "step", "write"), 1)
        ]
        for owner_id, n, summary, when in calls:
            call = {"fingerprint": "", "state": "done", "value": "null", "summary": summary}
            insert(tx, "calls", owner=owner_id, n=n, at=when, **call)
        for seq, kind in enumerate(("agent_reply", "progress", "result"), 1):
            entry = {"seq": seq, "at": began + seq * 3 * SECOND, "type": kind}
            insert(tx, "entries", body_json='{"text": "Drawing"}', **of, **entry)

    site.write(fn)


def _files(site: Site, message_id: str, work: WorkRecord) -> None:
    """A file that came with the message, and one that was made for it."""
    chart = site.file(work, "chart.svg", "chart.svg")
    asyncio.run(site.ctx.storage.put(chart.blob, b"<svg/>"))
    blob = f"{chart.blob}/sent"
    asyncio.run(site.ctx.storage.put(blob, SALES))
    sent = AttachmentRecord(
        message_id,
        1,
        "sales.csv",
        content_type="text/csv",
        kind="data",
        size=len(SALES),
        blob=blob,
    )

    def fn(tx: Tx) -> None:
        history_rows.ATTACHMENTS.insert(tx, sent)
        tx.execute(
            "UPDATE messages SET attachments = 1, reply_files = 1 WHERE id = ?", (message_id,)
        )
        sql = "UPDATE files SET message_id = ?, job_id = (SELECT id FROM jobs WHERE work_id = ?)"
        tx.execute(f"{sql} WHERE work_id = ?", (message_id, work.id, work.id))

    site.write(fn)


def _events(site: Site, message_id: str, owner: str, endpoint: str) -> None:
    """Two events of the message: one arrived at once, one is tried again."""
    site.write(
        lambda tx: _event(tx, site, message_id, owner, endpoint, EventName.MESSAGE_COMPLETED)
    )
    site.write(lambda tx: _event(tx, site, message_id, owner, endpoint, EventName.JOB_COMPLETED))


def _event(tx: Tx, site: Site, message_id: str, owner: str, endpoint: str, name: EventName) -> None:
    row = tx.one("SELECT created_at FROM messages WHERE id = ?", (message_id,))
    assert row is not None
    ended = row[0] + 9 * SECOND
    event_id = new_id(ids.EVENT, ended)
    delivery_rows.add_event(tx, event_id, owner, message_id, None, name, "{}", ended)
    delivery_rows.add_delivery(tx, event_id, endpoint, "pending", ended)
    if name is EventName.MESSAGE_COMPLETED:
        made: list[tuple[int, int, str | None, int]] = [(0, 200, None, 90)]
        change = "attempts = 1, status = 'delivered', delivered_at = created_at"
        values: tuple[object, ...] = (event_id,)
    else:
        made = [(0, 503, "it answered 503", 180), (5 * MINUTE, 503, "it answered 503", 40)]
        change = "attempts = 2, last_status_code = 503, next_attempt_at = ?"
        values = (site.clock.now() + HOUR, event_id)
    for n, (later, code, error, ms) in enumerate(made, 1):
        log = AttemptRecord(event_id, endpoint, n, ended + later + ms * 1_000, code, error, "", ms)
        delivery_rows.add_attempts(tx, [log], 25)
    tx.execute(f"UPDATE deliveries SET {change} WHERE event_id = ?", values)


def _mail(site: Site, owner: str) -> MailRecord:
    now = site.clock.now()
    return MailRecord(
        id=new_id(ids.MAIL, now),
        account_id=owner,
        recipient=DEFAULT_EMAIL,
        subject="A webhook endpoint was disabled",
        text="Every delivery to https://old.example.com/… has failed.\n\nIt was turned off.",
        created_at=now,
        next_attempt_at=now,
    )


def refuse(site: Site, account_id: str) -> None:
    """One more request that was refused; also beside a running event loop."""
    site.clock.advance(1)
    made = _request(site, account_id, "key_gone", "msg_none", 0)
    made = replace(made, error="teapot", status=418)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(site.write, lambda tx: request_rows.REQUESTS.insert_all(tx, [made])).result()


def add_messages(site: Site, account_id: str, count: int) -> None:
    """Many more of them, an old one each second."""
    first = site.clock.now() - 20 * DAY
    site.write(
        lambda tx: _copy_messages(tx, account_id, [first - n * SECOND for n in range(count)])
    )


def _copy_messages(tx: Tx, account_id: str, times: list[int]) -> None:
    """The newest message again, sent at these times."""
    row = tx.one("SELECT MAX(id) FROM messages WHERE account_id = ?", (account_id,))
    assert row is not None
    names = [name for _, name, *_ in tx.all("PRAGMA table_info(messages)")]
    given = {"id": "?", "created_at": "?", "idempotency_key": "NULL"}
    kept = ", ".join(given.get(name, name) for name in names)
    sql = f"INSERT INTO messages ({', '.join(names)}) SELECT {kept} FROM messages WHERE id = ?"
    assert names.index("id") < names.index("created_at")
    for at in times:
        tx.execute(sql, (new_id(ids.MESSAGE, at), at, row[0]))
