"""Files are scanned by the operator's program before anybody may read them."""

import asyncio
import base64
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agentpost.blobs import actions as blobs
from agentpost.context import AppContext
from agentpost.domain.errors import Overloaded, Refusal
from agentpost.egress.client import Download
from agentpost.files import scanning
from agentpost.operations import doctor
from agentpost.processes.scanner import Scanner, ScanResult, Verdict, parse_command
from agentpost.record.records import AttachmentRecord
from agentpost.uploads import actions as uploads, attachments
from agentpost.uploads.attachments import AttachmentResult, InlineFile
from agentpost.uploads.rules import UploadStatus
from tests.uploads.test_uploads import ACCOUNT, announce, ctx, files_in, post, row

__all__ = ["ctx", "post"]
SCAN = 'case $(cat "$1") in *EVIL*) echo Found; exit 1;; *ODD*) exit 2;; *SLOW*) sleep 60;; esac'


def scanner(seconds: float = 30, at_once: int = 2) -> Scanner:
    return Scanner(["sh", "-c", SCAN, "scan"], seconds, at_once, {"PATH": "/usr/bin:/bin"})


@pytest.fixture
def scanned(ctx: AppContext) -> AppContext:
    ctx.scanner = scanner()
    return ctx


async def store(ctx: AppContext, *texts: bytes) -> AttachmentResult:
    given = [
        InlineFile(f"{n}.txt", None, base64.b64encode(text).decode(), None)
        for n, text in enumerate(texts)
    ]
    return await attachments.store(ctx, given)


async def test_what_the_program_says_decides() -> None:
    one = scanner()
    assert await one.scan_bytes(b"fine") == ScanResult(Verdict.CLEAN, "")
    assert await one.scan_bytes(b"EVIL") == ScanResult(Verdict.INFECTED, "Found")
    assert (await one.scan_bytes(b"ODD")).detail.startswith("exit 2")
    late = await scanner(seconds=0.2).scan_bytes(b"SLOW")
    assert late == ScanResult(Verdict.FAILED, "it took over 0.2 seconds")
    gone = await Scanner(["/no/such/program"], 5, 1, {}).scan_bytes(b"")
    assert gone.verdict is Verdict.FAILED
    assert "could not be started" in gone.detail


async def test_only_so_many_run_at_once(tmp_path: Path) -> None:
    alone = 'mkdir "$1" || exit 3; sleep 0.02; rmdir "$1"'
    argv = ["sh", "-c", alone, "scan", str(tmp_path / "taken")]
    one = Scanner(argv, 30, 1, {"PATH": "/usr/bin:/bin"})
    found = await asyncio.gather(*(one.scan(tmp_path) for _ in range(4)))
    assert {each.verdict for each in found} == {Verdict.CLEAN}


async def test_a_scanner_that_fails_is_named_until_it_works_again(
    scanned: AppContext, tmp_path: Path
) -> None:
    for state in ("ok", "broken", "suspicious"):
        (tmp_path / state).write_text("")
    now = tmp_path / "now"
    shell = f"case $(readlink {now}) in broken) echo No daemon; exit 2;; suspicious) exit 1;; esac"
    scanned.scanner = Scanner(["sh", "-c", shell, "scan"], 30, 2, {"PATH": "/usr/bin:/bin"})

    def become(state: str) -> None:
        now.unlink(missing_ok=True)
        now.symlink_to(state)

    def degraded() -> list[str]:
        return scanned.health.failing_parts()

    become("ok")
    await scanning.check(scanned)
    assert (scanned.health.parts(), degraded()) == ({"scanner": True}, [])
    become("broken")
    await scanning.check(scanned)
    assert degraded() == [], "one that worked a moment ago is not asked again"
    with pytest.raises(Overloaded):
        await store(scanned, b"fine")
    assert degraded() == ["scanner"]
    assert scanned.health.failing() == [], "messages without files are still served"
    [found] = await doctor.examine(scanned)
    assert (found.id, found.state) == ("scanner", "failing")
    assert found.problem == "Files cannot be scanned for malware. exit 2: No daemon"
    become("suspicious")
    await scanning.check(scanned)
    assert degraded() == ["scanner"]
    become("ok")
    await scanning.check(scanned)
    assert degraded() == []
    assert await doctor.examine(scanned) == []


def test_a_command_has_a_program() -> None:
    assert parse_command(f"{shlex.quote(sys.executable)} -c 'a b'")[1:] == ["-c", "a b"]
    for command in ("no-such-scanner --x", "'", " "):
        with pytest.raises(ValueError, match="AGENTPOST_SCAN_COMMAND"):
            parse_command(command)


@pytest.mark.rule("Additions malwareScan")
async def test_an_infected_upload_is_refused_and_deleted(
    scanned: AppContext, post: Any, tmp_path: Path
) -> None:
    upload_id = await announce(scanned)
    await post(upload_id, b"EVIL")
    with pytest.raises(Refusal) as refused, capture_logs() as lines:
        await uploads.complete(scanned, ACCOUNT, upload_id)
    assert refused.value.code == "executable_refused"
    assert "malware" in refused.value.message
    (line,) = [each for each in lines if each["event"] == "malware_refused"]
    assert (line["found"], line["upload_id"], line["account_id"]) == ("Found", upload_id, ACCOUNT)
    found = await row(scanned, upload_id)
    assert found is not None
    assert found.status is UploadStatus.REJECTED
    await blobs.sweep(scanned)
    assert files_in(tmp_path) == []


@pytest.mark.rule("Additions malwareScan")
async def test_an_upload_that_cannot_be_scanned_is_to_be_completed_again(
    scanned: AppContext, post: Any
) -> None:
    upload_id = await announce(scanned)
    await post(upload_id, b"ODD")
    with pytest.raises(Overloaded) as refused:
        await uploads.complete(scanned, ACCOUNT, upload_id)
    assert refused.value.retry_after_seconds > 0
    scanned.scanner = Scanner(["true"], 30, 1, {"PATH": "/usr/bin:/bin"})
    done = await uploads.complete(scanned, ACCOUNT, upload_id)
    assert done.status is UploadStatus.READY


@pytest.mark.rule("Additions malwareScan")
async def test_inline_files_are_scanned(scanned: AppContext, tmp_path: Path) -> None:
    attached = await store(scanned, b"fine", b"EVIL")
    assert [each.name for each in attached.files] == ["0.txt"]
    assert attached.notes == [f"1.txt: skipped, {scanning.INFECTED}."]
    with pytest.raises(Overloaded):
        await store(scanned, b"fine", b"ODD")
    await attachments.discard(scanned, attached)
    await blobs.sweep(scanned)
    assert files_in(tmp_path) == []
    accepting = scanned.settings.model_copy(update={"scan_failure": "accept"})
    scanned.settings = accepting
    with capture_logs() as lines:
        assert len((await store(scanned, b"ODD")).files) == 1
    assert [each["accepted"] for each in lines if each["event"] == "scan_failed"] == [True]


@pytest.mark.rule("Additions malwareScan")
@pytest.mark.parametrize(
    ("text", "note"),
    [(b"EVIL", scanning.INFECTED), (b"ODD", scanning.UNSCANNED), (b"fine", None)],
)
async def test_fetched_files_are_scanned(
    scanned: AppContext, monkeypatch: pytest.MonkeyPatch, text: bytes, note: str | None
) -> None:
    async def fetch(_url: str, *, into: Path, **_: Any) -> Download:
        into.write_bytes(text)
        return Download("a.txt", "text/plain", len(text))

    monkeypatch.setattr(scanned.egress, "fetch", fetch)
    attachment = AttachmentRecord("msg_1", 0, "", "https://files.example.com/a.txt")
    problem = await attachments._fetch_one(scanned, attachment, 0)
    assert problem == (note and f"a.txt: skipped, {note}.")
    assert (attachment.blob is None) is (note is not None)
