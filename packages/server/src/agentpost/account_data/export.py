"""An archive with everything that is of an account (docs/cli.md: agentpost accounts export).

The rows are read in one transaction, so they fit together, and written as JSON Lines, a file for
each kind; then the bytes of files are added. The manifest comes last. An archive in a file gets its
name when it is complete, so one that was cut off looks like none; one that is streamed is complete
when it has the manifest.
"""

import asyncio
import hashlib
import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

from agentpost.account_data import export_rows
from agentpost.accounts import actions as accounts
from agentpost.blobs import hold
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import iso
from agentpost.requests.redaction import shown_url
from agentpost.storage.base import BlobMissing
from agentpost.version import __version__

FORMAT: Final = "agentpost-account"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
_MEMBERS: Final = "members.jsonl"
_WITH_BYTES: Final = ("files", "attachments", "uploads")
Manifest = dict[str, Any]
"""What is in an archive; of its ``files``, ``missing`` are those that the storage does not have."""


async def export(ctx: AppContext, id_or_email: str, place: Path) -> Manifest:
    """Write the archive of an account, a ``.tar``, to a path where nothing is yet; its manifest.

    Memory is bounded, whatever the account has; beside the archive it needs room for the rows once
    more. No file is deleted meanwhile (`blobs.hold`). Raises ``not_found``; `ValueError`
    when there is something at the path; `OSError` when it cannot be written.
    """
    account = await accounts.find(ctx, id_or_email)
    if place.exists():
        raise ValueError(f"{place} is there already: name a file that is not")
    partial = place.with_name(f"{place.name}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            manifest = await _write(ctx, account.id, target, place.parent)
            target.flush()
            os.fsync(target.fileno())
        partial.rename(place)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    return manifest


async def stream(ctx: AppContext, id_or_email: str, target: IO[bytes]) -> Manifest:
    """`export` to what need not be a file, such as standard output; the rows are put beside the
    data meanwhile. `OSError` when it takes no more."""
    account = await accounts.find(ctx, id_or_email)
    data = ctx.settings.data_path
    manifest = await _write(ctx, account.id, target, data if data.is_dir() else None)
    await asyncio.to_thread(target.flush)
    return manifest


async def _write(
    ctx: AppContext, account_id: str, target: IO[bytes], beside: Path | None
) -> Manifest:
    """``beside``: where the rows have room; None: the system's folder for such files."""
    with TemporaryDirectory(dir=beside, prefix=".agentpost-export-") as folder:
        async with hold.hold(ctx):
            return await _fill(ctx, account_id, Path(folder), target)


async def _fill(ctx: AppContext, account_id: str, folder: Path, target: IO[bytes]) -> Manifest:
    counts = await ctx.db.read(lambda tx: _write_rows(tx, account_id, folder))
    files = {"count": 0, "bytes": 0, "missing": 0}
    with (
        (folder / _MEMBERS).open("w") as members,
        tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for kind in export_rows.KINDS:
            path = folder / f"{kind}.jsonl"
            member = await asyncio.to_thread(_add, archive, path, path.name)
            members.write(_line({**member, "rows": counts[kind]}))
        for kind in _WITH_BYTES:
            for blob in _blobs(folder / f"{kind}.jsonl"):
                try:
                    local = await ctx.storage.local(blob)
                    member = await asyncio.to_thread(_add, archive, local, _member(blob))
                except (BlobMissing, FileNotFoundError):
                    members.write(_line({"name": _member(blob), "missing": True}))
                    files["missing"] += 1
                    continue
                members.write(_line(member))
                files["count"] += 1
                files["bytes"] += member["bytes"]
        members.flush()
        listed = await asyncio.to_thread(_add, archive, folder / _MEMBERS, _MEMBERS)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "server": __version__,
            "account_id": account_id,
            "made_at": iso(ctx.clock.now()),
            "rows": counts,
            "files": files,
            "members": listed,
        }
        last = folder / MANIFEST
        last.write_text(json.dumps(manifest, indent=2) + "\n")
        await asyncio.to_thread(_add, archive, last, MANIFEST)
    return manifest


def _write_rows(tx: Tx, account_id: str, folder: Path) -> dict[str, int]:
    """Safe to run again: each file is begun anew."""
    counts = {}
    for kind in export_rows.KINDS:
        counts[kind] = 0
        with (folder / f"{kind}.jsonl").open("w", encoding="utf-8") as file:
            for shape in export_rows.rows(tx, account_id, kind):
                if shape.get("blob"):
                    shape["member"] = _member(shape["blob"])
                if kind == "webhooks":
                    shape["url"] = shown_url(shape["url"])
                file.write(_line(shape))
                counts[kind] += 1
    return counts


def _line(shape: dict[str, Any]) -> str:
    return json.dumps(shape, ensure_ascii=False, separators=(",", ":")) + "\n"


def _blobs(path: Path) -> Iterator[str]:
    """The blobs that the lines of a file name. An attached upload's is that of its message."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            shape = json.loads(line)
            if shape.get("blob") and shape.get("status") in (None, "ready"):
                yield shape["blob"]


def _member(blob: str) -> str:
    return f"bytes/{blob}"


def _add(archive: tarfile.TarFile, path: Path, name: str) -> dict[str, Any]:
    """Append a file; its line in the list of members. Blocks."""
    with path.open("rb") as file:
        info = tarfile.TarInfo(name)
        info.size = os.fstat(file.fileno()).st_size
        info.mode = 0o600
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        archive.addfile(info, file)
    archive.members.clear()  # type: ignore[attr-defined]  # it would keep every one in memory
    return {"name": name, "bytes": info.size, "sha256": sha256}
