"""The archive of an account: all of it, nothing of others, no secrets, and whole or not there."""

import hashlib
import json
import stat
import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentpost.account_data import export, export_rows
from agentpost.accounts import actions as accounts
from agentpost.context import AppContext
from tests.account_data.test_deletion import fill

BLOBS = {"files/_goes": b"file", "attachments/_goes": b"attached", "files/_stays": b"other"}


def members(place: Path) -> dict[str, bytes]:
    with tarfile.open(place) as archive:
        found = {each.name: archive.extractfile(each) for each in archive}
        return {name: file.read() if file else b"" for name, file in found.items()}


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


async def test_everything_of_an_account_and_nothing_else(
    ctx: AppContext, account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_rows, "PAGE", 1)
    monkeypatch.setattr(export_rows, "_EVENTS_AT_ONCE", 1)
    other = (await accounts.create(ctx, "other@example.com", "Other")).id
    await accounts.create_key(ctx, account, "ci")
    for mark, each in (("_goes", account), ("_stays", other)):
        await ctx.db.write(partial(fill, mark, each))
    for blob, data in BLOBS.items():
        (tmp_path / "bytes").write_bytes(data)
        await ctx.storage.put(blob, tmp_path / "bytes")
    place = tmp_path / "out.tar"
    made = await export.export(ctx, "owner@example.com", place)
    in_files = {"count": 2, "bytes": 12, "missing": 1}
    assert made["files"] == in_files, "the upload's were not there"
    assert all(made["rows"][kind] for kind in export_rows.KINDS)
    assert made["rows"]["keys"] == made["rows"]["users"] == 2

    found = members(place)
    assert list(found)[-1] == "manifest.json"
    manifest = json.loads(found["manifest.json"])
    assert manifest == made
    assert (manifest["format"], manifest["version"]) == ("agentpost-account", 1)
    assert manifest["rows"] == {
        kind: len(lines(found[f"{kind}.jsonl"])) for kind in export_rows.KINDS
    }
    listed = lines(found["members.jsonl"])
    for each in (*listed, manifest["members"]):
        if "missing" not in each:
            data = found[each["name"]]
            assert each["bytes"] == len(data)
            assert each["sha256"] == hashlib.sha256(data).hexdigest()
    assert {each["name"] for each in listed} | {"members.jsonl", "manifest.json"} == {
        *found,
        "bytes/uploads/_goes",
    }
    events = {each["id"] for each in lines(found["events.jsonl"])}
    assert events == {"event_goes", "loose_goes"}
    assert [each["event_id"] for each in lines(found["deliveries.jsonl"])] == ["event_goes"]
    assert "claimed_until" not in lines(found["deliveries.jsonl"])[0]
    (file,) = lines(found["files.jsonl"])
    assert found[file["member"]] == b"file"
    assert [each["url"] for each in lines(found["webhooks.jsonl"])] == ["https://example.com/…"]
    text = b"".join(found.values()).decode()
    assert "_stays" not in text
    assert other not in text
    for secret in export_rows.LEFT_OUT:
        assert f'"{secret}"' not in text

    with (tmp_path / "streamed").open("wb") as target:
        again = await export.stream(ctx, account, target)
    assert {**again, "made_at": made["made_at"]} == made
    streamed = members(tmp_path / "streamed")
    del streamed["manifest.json"], found["manifest.json"]  # when it was made
    assert streamed == found
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with pytest.raises(ValueError, match="there already"):
        await export.export(ctx, account, place)


async def test_one_that_is_cut_off_leaves_nothing(
    ctx: AppContext, account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> dict[str, Any]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_add", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="No space"):
        await export.export(ctx, account, tmp_path / "out.tar")
    assert sorted(tmp_path.iterdir()) == before
