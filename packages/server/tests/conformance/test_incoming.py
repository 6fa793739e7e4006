"""The contract of `agentpost.storage.incoming`, on every adapter."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.times import SECOND
from agentpost.storage import s3_incoming
from agentpost.storage.base import BlobMissing, Storage
from agentpost.storage.incoming import Incoming, PostForm, Replaced
from agentpost.storage.local import LocalIncoming, LocalStorage
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.s3 import S3Storage
from agentpost.storage.s3_incoming import S3Incoming

KEPT = "uploads/up_1/1"


class Store:
    """An adapter, its blob store, and a client that posts."""

    def __init__(self, incoming: Incoming, storage: Storage, post: Callable[..., Any]) -> None:
        self.incoming = incoming
        self.storage = storage
        self.post = post
        self.upload_id = new_id(ids.UPLOAD, 1)

    async def read(self, key: str) -> bytes:
        return b"".join([chunk async for chunk in self.storage.open(key)])


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "local":
        local: LocalIncoming = request.getfixturevalue("local")

        async def put(upload_id: str, data: bytes) -> None:
            await local.receive(upload_id, arriving(data))

        return Store(local, LocalStorage(tmp_path), put)
    url = request.getfixturevalue("s3_url")
    s3 = S3Incoming(url)

    async def post(upload_id: str, data: bytes) -> None:
        form = await form_for(s3, upload_id)
        fields, files = dict(form.fields), {"file": ("any", data)}
        answer = await asyncio.to_thread(
            lambda: httpx2.post(form.url, data=fields, files=files, trust_env=False)
        )
        assert answer.status_code == 204, answer.text

    return Store(s3, S3Storage.from_url(url, tmp_path / "cache"), post)


async def arriving(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def form_for(incoming: Incoming, upload_id: str) -> PostForm:
    return await incoming.form(upload_id, "text/csv", 1_000, 2_000_000_000 * SECOND, 900)


@pytest.fixture
def local(tmp_path: Path) -> LocalIncoming:
    return LocalIncoming(LocalStorage(tmp_path), PolicySigner(b"secret"), "http://here")


@pytest.mark.rule("Upload.url", "Upload.fields")
async def test_the_form_has_what_clients_send(store: Store) -> None:
    form = await form_for(store.incoming, store.upload_id)
    assert form.url.startswith("http://")
    assert form.fields["Content-Type"] == "text/csv"
    assert store.upload_id in form.fields["key"]
    assert form.fields["policy"]
    assert any(name.endswith("signature") for name in form.fields)


async def test_a_place_is_empty_until_something_arrives(store: Store) -> None:
    assert await store.incoming.find(store.upload_id) is None
    await store.post(store.upload_id, b"12345")
    found = await store.incoming.find(store.upload_id)
    assert found is not None
    assert found.size == 5
    assert await store.incoming.find(store.upload_id) == found


async def test_other_bytes_are_another_version(store: Store) -> None:
    await store.post(store.upload_id, b"12345")
    first = await store.incoming.find(store.upload_id)
    await store.post(store.upload_id, b"54321")
    assert await store.incoming.find(store.upload_id) not in (first, None)


async def test_a_taken_upload_stays_whatever_comes_later(store: Store) -> None:
    await store.post(store.upload_id, b"first")
    found = await store.incoming.find(store.upload_id)
    assert found is not None
    await store.incoming.snapshot(store.upload_id, found, KEPT)
    assert await store.incoming.find(store.upload_id) == found, "its place is left as it is"
    await store.post(store.upload_id, b"second")
    await store.incoming.delete(store.upload_id)
    assert await store.read(KEPT) == b"first"


async def test_taking_what_is_not_there_any_more(store: Store) -> None:
    await store.post(store.upload_id, b"first")
    found = await store.incoming.find(store.upload_id)
    assert found is not None
    await store.incoming.delete(store.upload_id)
    with pytest.raises(Replaced):
        await store.incoming.snapshot(store.upload_id, found, KEPT)
    with pytest.raises(BlobMissing):
        await store.storage.size(KEPT)


async def test_local_takes_only_the_version_found(local: LocalIncoming, tmp_path: Path) -> None:
    """Of S3 the store itself holds this (If-Match on the source), which the tests' one ignores."""
    upload_id = new_id(ids.UPLOAD, 1)
    found = await local.receive(upload_id, arriving(b"first"))
    await local.receive(upload_id, arriving(b"other"))
    with pytest.raises(Replaced):
        await local.snapshot(upload_id, found, KEPT)
    with pytest.raises(BlobMissing):
        await LocalStorage(tmp_path).size(KEPT)


async def test_deleting_nothing_is_no_error(store: Store) -> None:
    await store.incoming.delete(store.upload_id)
    await store.incoming.tidy()


async def test_a_discarded_file_never_was(local: LocalIncoming, tmp_path: Path) -> None:
    upload_id = new_id(ids.UPLOAD, 1)

    async def break_off() -> AsyncIterator[bytes]:
        yield b"half"
        assert await local.find(upload_id) is None
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await local.receive(upload_id, break_off())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_broken_off_posts_are_tidied_away(local: LocalIncoming, tmp_path: Path) -> None:
    folder = tmp_path / "incoming" / "tmp"
    new, old = folder / "new", folder / "old"
    for path in (new, old):
        path.write_bytes(b"left by a process that was killed")
    os.utime(old, (1, 1))
    await local.tidy()
    assert list(folder.iterdir()) == [new]


async def test_a_file_that_arrives_slowly_is_not_tidied_away(
    local: LocalIncoming, tmp_path: Path
) -> None:
    """Nothing may be written for a long time: it is kept in memory until it is worth a write."""
    upload_id = new_id(ids.UPLOAD, 1)

    async def arrive_slowly() -> AsyncIterator[bytes]:
        yield b"begun"
        [file] = (tmp_path / "incoming" / "tmp").iterdir()
        os.utime(file, (1, 1))
        await local.tidy()

    arrived = await local.receive(upload_id, arrive_slowly())
    assert await local.find(upload_id) == arrived


async def test_parts_of_a_blob_that_broke_off_are_tidied_away(
    s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3 = S3Incoming(s3_url)
    client, bucket = s3._client, s3._location.bucket
    client.create_multipart_upload(Bucket=bucket, Key=s3._location.key("files/1"))

    def begun() -> int:
        return len(client.list_multipart_uploads(Bucket=bucket).get("Uploads", []))

    before = begun()
    monkeypatch.setattr(s3_incoming, "_ABANDONED", timedelta(days=36_500))
    await s3.tidy()
    assert begun() == before
    monkeypatch.undo()
    await s3.tidy()
    assert begun() == 0
