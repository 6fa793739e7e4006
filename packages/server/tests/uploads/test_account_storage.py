"""What an account has stored: counted with every row of a file, and never over its limit.

On both databases. `test_written_over` has what a job or turn writes over."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from agentpost.accounts import actions as accounts
from agentpost.agents import StorageFull
from agentpost.blobs import account_rows, actions as blobs, audit
from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.jobs import actions as jobs, works
from agentpost.jobs.actions import JobClaim
from agentpost.limits import allowances
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.sending import Acceptance
from agentpost.operations import doctor
from agentpost.record.records import FileRecord
from agentpost.retention import actions as retention
from agentpost.storage.local import LocalIncoming
from agentpost.uploads import actions as uploads, attachments
from agentpost.uploads.actions import NewUpload
from agentpost.uploads.attachments import InlineFile
from agentpost.uploads.rules import UploadStatus
from tests.conformance.test_incoming import arriving
from tests.harness.context import Harness, open_harness
from tests.harness.ends import finish

DAY = 86_400
MOST = 10


@pytest.fixture
async def harness(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Harness]:
    """A context on each database, where an account may store ten bytes."""
    async with open_harness(tmp_path, postgres_url=schema_url, stored_bytes_max=MOST) as made:
        yield made
        assert await audit.audit_sizes(made.ctx, full=True) == []
        assert await audit.audit_sizes(made.ctx, full=False) == []


async def used(harness: Harness) -> int:
    return (await allowances.show(harness.ctx, harness.account_id))[2]


async def send(
    harness: Harness, *contents: bytes, key: str | None = None, **more: object
) -> Acceptance:
    """A message with these inline files."""
    given = [
        InlineFile(f"{n}.txt", None, base64.b64encode(data).decode(), None)
        for n, data in enumerate(contents)
    ]
    attached = await attachments.store(harness.ctx, given)
    new = NewMessage("hi", idempotency_key=key, attached=attached, **more)  # type: ignore[arg-type]
    message_id = new_id(ids.MESSAGE, harness.tick())
    return await sending.accept(harness.ctx, harness.caller, new, message_id)


async def announced(harness: Harness, data: bytes) -> str:
    """An upload that was posted; its id."""
    made, _ = await uploads.create(
        harness.ctx, harness.account_id, NewUpload("a.csv", len(data), None)
    )
    assert isinstance(harness.ctx.incoming, LocalIncoming)
    await harness.ctx.incoming.receive(made.id, arriving(data))
    return made.id


async def complete(harness: Harness, upload_id: str) -> UploadStatus:
    return (await uploads.complete(harness.ctx, harness.account_id, upload_id)).status


async def write(harness: Harness, owned: JobClaim, path: str = "a.txt") -> FileRecord:
    """`job.write` of one byte."""
    harness.tick()
    file = await harness.file(owned, path)
    await jobs.record_call(harness.ctx, owned, harness.call(owned.job_id), 0, (), file)
    return file


async def too_large(awaited: Awaitable[object]) -> str:
    with pytest.raises(Refusal) as refused:
        await awaited
    assert refused.value.code == "too_large"
    return refused.value.message


# --- files of messages ----------------------------------------------------------------------------
async def test_inline_files_count_until_their_message_is_purged(harness: Harness) -> None:
    message = (await send(harness, b"four", b"five!")).message
    assert await used(harness) == 9
    await harness.end(harness.ticket(message.id))
    harness.tick(15 * DAY)
    await retention.messages(harness.ctx)
    assert await used(harness) == 0
    assert harness.all("SELECT message_id FROM attachments") == []
    await blobs.sweep(harness.ctx)
    assert harness.all("SELECT blob FROM pending_deletions") == []
    folder = harness.ctx.settings.data_path / "blobs"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


async def test_a_refused_message_counts_nothing(harness: Harness) -> None:
    with pytest.raises(Refusal):
        await send(harness, b"four", webhook_endpoint_id="whk_none")
    assert await used(harness) == 0


# --- uploads --------------------------------------------------------------------------------------
async def test_an_upload_counts_from_complete_until_its_message_is_purged(harness: Harness) -> None:
    upload_id = await announced(harness, b"seven..")
    assert await used(harness) == 0, "it is only announced"
    assert await complete(harness, upload_id) is UploadStatus.READY
    assert await complete(harness, upload_id) is UploadStatus.READY
    assert await used(harness) == 7
    message = (await send(harness, b"xyz", upload_ids=(upload_id,))).message
    assert await used(harness) == 10, "the message has it now: it is not counted twice"
    await harness.end(harness.ticket(message.id))
    harness.tick(2 * DAY)
    await uploads.sweep(harness.ctx)
    assert await used(harness) == 10
    harness.tick(13 * DAY)
    await retention.messages(harness.ctx)
    assert await used(harness) == 0
    assert harness.all("SELECT id FROM uploads") == []


async def test_an_upload_that_no_message_took_counts_until_it_is_swept(harness: Harness) -> None:
    ready, pending = await announced(harness, b"seven.."), await announced(harness, b"x")
    await complete(harness, ready)
    assert await used(harness) == 7
    harness.tick(2 * DAY)
    for _ in "12":
        await uploads.sweep(harness.ctx)
        assert await used(harness) == 0
    assert pending
    assert harness.all("SELECT id FROM uploads") == []


async def test_all_who_complete_the_last_upload_with_room_at_once_get_it(harness: Harness) -> None:
    upload_id = await announced(harness, b"x" * MOST)
    done = await asyncio.gather(
        *(uploads.complete(harness.ctx, harness.account_id, upload_id) for _ in range(6))
    )
    assert {each.status for each in done} == {UploadStatus.READY}
    [blob] = {each.blob for each in done}
    assert b"".join([chunk async for chunk in harness.ctx.storage.open(blob)]) == b"x" * MOST
    assert await used(harness) == MOST


# --- files of works -------------------------------------------------------------------------------
async def test_files_of_a_job_count_until_their_work_is_deleted(harness: Harness) -> None:
    message_id, [job] = await harness.working()
    for path in ("a.txt", "b.txt", "a.txt"):
        await write(harness, job, path)
    assert await used(harness) == 3, "a version may still be named by the job's record"
    await finish(harness.ctx, job, "Done.", None, "{}")
    assert await used(harness) == 2
    harness.tick(30 * DAY)
    await retention.messages_with_jobs(harness.ctx)
    assert harness.all("SELECT id FROM messages WHERE id = ?", message_id) == []
    assert await used(harness) == 2, "files stay with their work"
    [work] = harness.one("SELECT id FROM works")
    await works.delete(harness.ctx, harness.account_id, work)
    await retention.deleted_works(harness.ctx)
    assert await used(harness) == 0
    assert harness.all("SELECT id FROM works") == []


async def test_a_work_with_many_files_is_deleted_in_steps(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FILES_PER_STEP", 2)
    _, [job] = await harness.working()
    for path in "abcde":
        await write(harness, job, path)
    await finish(harness.ctx, job, "Done.", None, "{}")
    [work] = harness.one("SELECT id FROM works")
    await works.delete(harness.ctx, harness.account_id, work)
    left = []
    for _ in range(3):
        await harness.ctx.db.write(lambda tx: retention._delete_from_work(harness.ctx, work, tx))
        left.append((await used(harness), len(harness.all("SELECT id FROM works"))))
    assert left == [(3, 1), (1, 1), (0, 0)]


async def test_writers_at_once_do_not_pass_the_limit(harness: Harness) -> None:
    """Of different conversations, so that nothing but the number holds them apart."""
    await allowances.override(harness.ctx, harness.account_id, {"running_jobs": 30})
    owned = []
    for n in range(15):
        ticket = await harness.begin_turn(conversation=f"c{n}")
        owned.append(harness.owned((await harness.start(ticket)).job_id))
        await harness.end(ticket)
    answers = await asyncio.gather(
        *(write(harness, job) for job in owned),
        *(send(harness, b"x", conversation=f"i{n}") for n in range(15)),
        return_exceptions=True,
    )
    assert await used(harness) == MOST
    assert harness.one(
        "SELECT (SELECT COUNT(*) FROM files) + (SELECT COUNT(*) FROM attachments)"
    ) == (MOST,)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    assert {type(error) for error in failed} <= {StorageFull}


# --- the limit ------------------------------------------------------------------------------------
async def test_nought_is_no_limit(harness: Harness) -> None:
    await allowances.override(harness.ctx, harness.account_id, {"stored_bytes": 0})
    await send(harness, b"x" * 1_000)
    assert await used(harness) == 1_000
    with pytest.raises(ValueError, match="0 or more"):
        await allowances.override(harness.ctx, harness.account_id, {"stored_bytes": -1})


async def test_a_limit_below_what_is_stored_refuses_more_and_deletes_nothing(
    harness: Harness,
) -> None:
    await send(harness, b"x" * 8)
    await allowances.override(harness.ctx, harness.account_id, {"stored_bytes": 5})
    message = (await send(harness, b"x", b"")).message
    assert harness.view(message.id)["notes"] == [
        "0.txt: skipped, the account's storage has no space for it (8 of 5 bytes are used)."
    ]
    assert message.attachments == 1, "an empty file takes no room"
    assert await used(harness) == 8


async def test_a_message_without_files_asks_nothing_of_the_storage(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    for name in ("add", "subtract", "used"):
        monkeypatch.setattr(account_rows, name, lambda *given: asked.append(given))
    _, [job] = await harness.working()
    await finish(harness.ctx, job, "Done.", None, "{}")
    assert asked == []


# --- the doctor -----------------------------------------------------------------------------------
@pytest.mark.parametrize("full", [False, True])
async def test_the_doctor_sees_a_wrong_number(harness: Harness, full: bool) -> None:
    other = await accounts.create(harness.ctx, "b@example.com", "B", 0)
    await send(harness, b"four")

    async def count(account_id: str, size: int) -> None:
        await harness.ctx.db.write(lambda tx: account_rows.add(tx, account_id, size, MOST))

    async def found() -> list[tuple[str, str]]:
        examined = await doctor.examine(harness.ctx, full=full)
        return sorted((each.id, each.problem) for each in examined if each.state == "miscounted")

    assert await found() == []
    await count(harness.account_id, 3)
    await count(other.id, 2)
    wrong = [
        (harness.account_id, "7 bytes count as stored, but its rows have 4"),
        (other.id, "2 bytes count as stored, but its rows have 0"),
    ]
    reported = sorted((i, f"{p}; `agentpost limits recount {i}` corrects it") for i, p in wrong)
    assert await found() == reported
    assert await allowances.recount(harness.ctx, "b@example.com") == 0
    assert await allowances.recount(harness.ctx, harness.account_id) == 4
    assert await found() == []


async def test_an_account_never_counted_is_recounted_beside_writers(harness: Harness) -> None:
    """Of every kind: a ready upload, a work's file, a message's file."""
    await complete(harness, await announced(harness, b"two"[:2]))
    _, [job] = await harness.working()
    await write(harness, job)
    await send(harness, b"xyz")
    await harness.ctx.db.write(lambda tx: tx.execute("DELETE FROM account_storage"))
    await allowances.override(harness.ctx, harness.account_id, {"stored_bytes": 0})
    more = [send(harness, b"x", conversation=f"c{n}") for n in range(8)]
    await asyncio.gather(
        *more, *(allowances.recount(harness.ctx, harness.account_id) for _ in "1234")
    )
    assert await used(harness) == 2 + 1 + 3 + 8


async def test_a_sample_leaves_out_accounts_with_many_rows(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        await send(harness, b"x")
    await harness.ctx.db.write(lambda tx: account_rows.add(tx, harness.account_id, 1, MOST))
    monkeypatch.setattr(audit, "ROWS_MAX", 1)
    assert await audit.audit_sizes(harness.ctx, full=False) == []
    assert len(await audit.audit_sizes(harness.ctx, full=True)) == 1
    await harness.ctx.db.write(lambda tx: account_rows.subtract(tx, [(harness.account_id, 1)]))
