"""What an account has stored: counted with every row of a file, and never over its limit.

On both databases. What a job or turn writes over is in `test_written_over`.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from agentpost.agents import StorageFull
from agentpost.clock import new_id
from agentpost.db import account_storage
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.domain.record import FileRecord
from agentpost.domain.uploads import UploadStatus
from agentpost.services import (
    accounts,
    allowances,
    attachments,
    blobs,
    doctor,
    jobs,
    messages,
    retention,
    storage_audit,
    turns,
    uploads,
    works,
)
from agentpost.services.attachments import InlineFile
from agentpost.services.jobs import Owned
from agentpost.services.messages import Accepted, NewMessage
from agentpost.services.tickets import TurnTicket
from agentpost.services.uploads import NewUpload
from agentpost.storage.local_incoming import LocalIncoming
from tests.services.both import schema_url
from tests.services.house import Desk, opened

__all__ = ["schema_url"]

DAY = 86_400
MOST = 10


@pytest.fixture
async def desk(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Desk]:
    """A house on each database, where an account may store ten bytes."""
    async with opened(tmp_path, postgres_url=schema_url, stored_bytes_max=MOST) as made:
        yield made
        assert await storage_audit.audit(made.house, full=True) == []
        assert await storage_audit.audit(made.house, full=False) == []


async def used(desk: Desk) -> int:
    return await allowances.stored_bytes(desk.house, desk.account_id)


async def send(desk: Desk, *contents: bytes, key: str | None = None, **more: object) -> Accepted:
    """A message with these inline files."""
    given = [
        InlineFile(f"{n}.txt", None, base64.b64encode(data).decode(), None)
        for n, data in enumerate(contents)
    ]
    attached = await attachments.take(desk.house, given)
    new = NewMessage("hi", "hi", idempotency_key=key, **more)  # type: ignore[arg-type]
    message_id = new_id(ids.MESSAGE, desk.tick())
    return await messages.accept(desk.house, desk.caller, new, attached, message_id)


async def announced(desk: Desk, data: bytes) -> str:
    """An upload that was posted; its id."""
    made, _ = await uploads.create(desk.house, desk.account_id, NewUpload("a.csv", len(data), None))
    assert isinstance(desk.house.incoming, LocalIncoming)
    sink = await desk.house.incoming.begin(made.id)
    await sink.write(data)
    await sink.keep()
    sink.discard()
    return made.id


async def complete(desk: Desk, upload_id: str) -> UploadStatus:
    return (await uploads.complete(desk.house, desk.account_id, upload_id)).status


def bytes_in(folder: Path) -> list[int]:
    return sorted(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def write(desk: Desk, owned: Owned, path: str = "a.txt") -> FileRecord:
    """`job.write` of one byte."""
    desk.tick()
    file = await desk.file(owned, path)
    return await jobs.write_file(desk.house, owned, desk.call(owned.job_id), file, 0)


async def reply_with(desk: Desk, ticket: TurnTicket, path: str, size: int) -> FileRecord:
    """`turn.write`."""
    blob = f"replies/{desk.tick()}"
    await blobs.store(desk.house, blob, b"x" * size)
    message_id = ticket.message.id
    file = FileRecord(
        work_id="",
        path=path,
        account_id=desk.account_id,
        message_id=message_id,
        job_id=None,
        name=path,
        content_type="text/plain",
        kind="text",
        size=size,
        revision='"r1"',
        blob=blob,
        label=None,
        created_at=0,
    )
    return await turns.write_file(desk.house, ticket, desk.call(message_id), file)


async def too_large(awaited: Awaitable[object]) -> str:
    with pytest.raises(Refusal) as refused:
        await awaited
    assert refused.value.code == "too_large"
    return refused.value.message


# --- files of messages ----------------------------------------------------------------------------
async def test_inline_files_count_until_their_message_is_purged(desk: Desk) -> None:
    message = (await send(desk, b"four", b"five!")).message
    assert await used(desk) == 9
    await desk.end(desk.ticket(message.id))
    desk.tick(15 * DAY)
    await retention.messages(desk.house)
    assert await used(desk) == 0
    await blobs.sweep(desk.house)
    assert desk.all("SELECT blob FROM doomed_blobs") == []


async def test_an_inline_file_without_room_is_a_note_and_its_bytes_go(
    desk: Desk, tmp_path: Path
) -> None:
    message = (await send(desk, b"six..6", b"five!", b"four")).message
    assert await used(desk) == 10, "what fits is taken, in the order given"
    assert desk.shown(message.id)["notes"] == [
        "1.txt: skipped, the account's storage has no room for it (6 of 10 bytes are used)."
    ]
    assert message.attachments == 2
    kept = desk.all("SELECT n, size FROM attachments ORDER BY n")
    assert kept == [(0, 6), (2, 4)]
    await blobs.sweep(desk.house)
    assert bytes_in(tmp_path / "blobs") == [4, 6]


async def test_a_replay_is_counted_once(desk: Desk) -> None:
    first = await send(desk, b"four", key="k")
    again = await send(desk, b"four", key="k")
    assert (again.fresh, again.message.id) == (False, first.message.id)
    assert await used(desk) == 4


async def test_a_refused_message_counts_nothing(desk: Desk) -> None:
    with pytest.raises(Refusal):
        await send(desk, b"four", webhook_endpoint_id="whk_none")
    assert await used(desk) == 0


# --- uploads --------------------------------------------------------------------------------------
async def test_an_upload_counts_from_complete_until_its_message_is_purged(desk: Desk) -> None:
    upload_id = await announced(desk, b"seven..")
    assert await used(desk) == 0, "it is only announced"
    assert await complete(desk, upload_id) is UploadStatus.READY
    assert await complete(desk, upload_id) is UploadStatus.READY
    assert await used(desk) == 7
    message = (await send(desk, b"xyz", upload_ids=(upload_id,))).message
    assert await used(desk) == 10, "the message has it now: it is not counted twice"
    await desk.end(desk.ticket(message.id))
    desk.tick(2 * DAY)
    await uploads.sweep(desk.house)
    assert await used(desk) == 10
    desk.tick(13 * DAY)
    await retention.messages(desk.house)
    assert await used(desk) == 0
    assert desk.all("SELECT id FROM uploads") == []


async def test_an_upload_that_no_message_took_counts_until_it_is_swept(desk: Desk) -> None:
    ready, pending = await announced(desk, b"seven.."), await announced(desk, b"x")
    await complete(desk, ready)
    assert await used(desk) == 7
    desk.tick(2 * DAY)
    for _ in "12":
        await uploads.sweep(desk.house)
        assert await used(desk) == 0
    assert pending
    assert desk.all("SELECT id FROM uploads") == []


async def test_an_upload_without_room_is_refused_and_can_be_completed_later(desk: Desk) -> None:
    upload_id = await announced(desk, b"seven..")
    message = (await send(desk, b"four")).message
    await desk.end(desk.ticket(message.id))
    text = await too_large(complete(desk, upload_id))
    assert text.startswith("The account's storage has no room for this upload (4 of 10 bytes are")
    assert "Delete works" in text
    assert text == await too_large(
        uploads.create(desk.house, desk.account_id, NewUpload("b.csv", 7, None))
    )
    await uploads.create(desk.house, desk.account_id, NewUpload("b.csv", 6, None))
    await allowances.override(desk.house, desk.account_id, {"stored_bytes": 11})
    assert await complete(desk, upload_id) is UploadStatus.READY
    assert await used(desk) == 11
    await too_large(uploads.create(desk.house, desk.account_id, NewUpload("b.csv", 1, None)))


async def test_all_who_complete_the_last_upload_with_room_at_once_get_it(desk: Desk) -> None:
    upload_id = await announced(desk, b"x" * MOST)
    done = await asyncio.gather(*(complete(desk, upload_id) for _ in range(6)))
    assert set(done) == {UploadStatus.READY}
    assert await used(desk) == MOST


# --- files of works -------------------------------------------------------------------------------
async def test_files_of_a_job_count_until_their_work_is_deleted(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    for path in ("a.txt", "b.txt", "a.txt"):
        await write(desk, job, path)
    assert await used(desk) == 3, "a version may still be named by the job's record"
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert await used(desk) == 2
    desk.tick(30 * DAY)
    await retention.messages_with_jobs(desk.house)
    assert desk.all("SELECT id FROM messages WHERE id = ?", message_id) == []
    assert await used(desk) == 2, "files stay with their work"
    [work] = desk.one("SELECT id FROM works")
    await works.delete(desk.house, desk.account_id, work)
    await retention.deleted_works(desk.house)
    assert await used(desk) == 0
    assert desk.all("SELECT id FROM works") == []


async def test_a_work_with_many_files_is_deleted_in_steps(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FILES_PER_STEP", 2)
    _, [job] = await desk.working()
    for path in "abcde":
        await write(desk, job, path)
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    [work] = desk.one("SELECT id FROM works")
    await works.delete(desk.house, desk.account_id, work)
    left = []
    for _ in range(3):
        await desk.house.db.write(lambda tx: retention._delete_from_work(desk.house, work, tx))
        left.append((await used(desk), len(desk.all("SELECT id FROM works"))))
    assert left == [(3, 1), (1, 1), (0, 0)]


async def test_a_job_that_finds_no_room_is_told_and_nothing_is_written(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    await send(desk, b"x" * MOST)
    entries = desk.log(message_id)
    with pytest.raises(StorageFull) as full:
        await write(desk, job)
    assert str(full.value) == (
        "a.txt was not saved: the account's storage has no room for it (10 of 10 bytes are used)."
        " Delete works you no longer need, which makes room within a minute, or wait until"
        " messages with files expire."
    )
    assert desk.log(message_id) == entries
    assert desk.all("SELECT blob FROM files") == []
    assert desk.all("SELECT n FROM calls WHERE owner = ?", job.job_id) == []


async def test_a_reply_finds_no_room_either(desk: Desk) -> None:
    ticket = await desk.begun()
    await reply_with(desk, ticket, "a.txt", 6)
    with pytest.raises(StorageFull, match="6 of 10"):
        await reply_with(desk, ticket, "b.txt", 5)
    await reply_with(desk, ticket, "c.txt", 4)
    await desk.end(ticket)
    assert [f["name"] for f in desk.shown(ticket.message.id)["files"]] == ["a.txt", "c.txt"]
    assert await used(desk) == 10


async def test_writers_at_once_do_not_pass_the_limit(desk: Desk) -> None:
    """Of different conversations, so that nothing but the number holds them apart."""
    await allowances.override(desk.house, desk.account_id, {"running_jobs": 30})
    owned = []
    for n in range(15):
        ticket = await desk.begun(conversation=f"c{n}")
        owned.append(desk.owned((await desk.start(ticket)).job_id))
        await desk.end(ticket)
    answers = await asyncio.gather(
        *(write(desk, job) for job in owned),
        *(send(desk, b"x", conversation=f"i{n}") for n in range(15)),
        return_exceptions=True,
    )
    assert await used(desk) == MOST
    assert desk.one("SELECT (SELECT COUNT(*) FROM files) + (SELECT COUNT(*) FROM attachments)") == (
        MOST,
    )
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    assert {type(error) for error in failed} <= {StorageFull}


# --- the limit ------------------------------------------------------------------------------------
async def test_nought_is_no_limit(desk: Desk) -> None:
    await allowances.override(desk.house, desk.account_id, {"stored_bytes": 0})
    await send(desk, b"x" * 1_000)
    assert await used(desk) == 1_000
    with pytest.raises(ValueError, match="0 or more"):
        await allowances.override(desk.house, desk.account_id, {"stored_bytes": -1})


async def test_a_limit_below_what_is_stored_refuses_more_and_deletes_nothing(desk: Desk) -> None:
    await send(desk, b"x" * 8)
    await allowances.override(desk.house, desk.account_id, {"stored_bytes": 5})
    message = (await send(desk, b"x", b"")).message
    assert desk.shown(message.id)["notes"] == [
        "0.txt: skipped, the account's storage has no room for it (8 of 5 bytes are used)."
    ]
    assert message.attachments == 1, "an empty file takes no room"
    assert await used(desk) == 8


async def test_a_message_without_files_asks_nothing_of_the_storage(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    for name in ("add", "subtract", "used"):
        monkeypatch.setattr(account_storage, name, lambda *given: asked.append(given))
    _, [job] = await desk.working()
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert asked == []


# --- the doctor -----------------------------------------------------------------------------------
@pytest.mark.parametrize("full", [False, True])
async def test_the_doctor_sees_a_wrong_number(desk: Desk, full: bool) -> None:
    other = await accounts.create(desk.house, "b@example.com", "B", 0)
    await send(desk, b"four")

    async def count(account_id: str, size: int) -> None:
        await desk.house.db.write(lambda tx: account_storage.add(tx, account_id, size, MOST))

    async def found() -> list[tuple[str, str]]:
        examined = await doctor.examine(desk.house, full=full)
        return sorted((each.id, each.problem) for each in examined if each.state == "miscounted")

    assert await found() == []
    await count(desk.account_id, 3)
    await count(other.id, 2)
    wrong = [
        (desk.account_id, "7 bytes count as stored, but its rows have 4"),
        (other.id, "2 bytes count as stored, but its rows have 0"),
    ]
    told = sorted((i, f"{p}; `agentpost limits recount {i}` corrects it") for i, p in wrong)
    assert await found() == told
    assert await allowances.recount(desk.house, "b@example.com") == 0
    assert await allowances.recount(desk.house, desk.account_id) == 4
    assert await found() == []


async def test_what_has_never_been_counted_is_recounted_beside_writers(desk: Desk) -> None:
    """Of every kind: a ready upload, a work's file, a message's file."""
    await complete(desk, await announced(desk, b"two"[:2]))
    _, [job] = await desk.working()
    await write(desk, job)
    await send(desk, b"xyz")
    await desk.house.db.write(lambda tx: tx.execute("DELETE FROM account_storage"))
    await allowances.override(desk.house, desk.account_id, {"stored_bytes": 0})
    more = [send(desk, b"x", conversation=f"c{n}") for n in range(8)]
    await asyncio.gather(*more, *(allowances.recount(desk.house, desk.account_id) for _ in "1234"))
    assert await used(desk) == 2 + 1 + 3 + 8


async def test_a_sample_leaves_out_accounts_with_many_rows(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send(desk, b"x")
    await send(desk, b"x")
    await desk.house.db.write(lambda tx: account_storage.add(tx, desk.account_id, 1, MOST))
    monkeypatch.setattr(storage_audit, "ROWS_MAX", 1)
    assert await storage_audit.audit(desk.house, full=False) == []
    assert len(await storage_audit.audit(desk.house, full=True)) == 1
    await desk.house.db.write(lambda tx: account_storage.subtract(tx, [(desk.account_id, 1)]))
