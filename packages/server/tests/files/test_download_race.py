"""A link followed in the moment its file goes: told before the first byte, not in the middle."""

import asyncio

import httpx2
import pytest
from structlog.testing import capture_logs

from agentpost.context import AppContext
from agentpost.files import views
from agentpost.record.records import FileRecord
from tests.web.site import Site


def link_of(site: Site, file: FileRecord) -> str:
    """Its address below that of the site."""
    link = site.ctx.links.file(file.file_id, file.revision)
    return link.removeprefix(site.ctx.settings.public_file_url)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ("UPDATE works SET deleted_at = 1", (404, "not_found")),
        ("UPDATE files SET revision = '\"r2\"'", (412, "file_changed")),
    ],
)
def test_it_went_this_moment(
    site: Site,
    stranger: httpx2.Client,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    refused: tuple[int, str],
) -> None:
    """Between the look at its record and the opening of its bytes, which are gone by then."""
    file = site.stored_file(site.work(), "a.txt", "text/plain", b"x")
    path = link_of(site, file)
    assert stranger.get(path).text == "x"
    asyncio.run(site.ctx.storage.delete(file.blob))
    real = views.find

    async def look_and_lose(ctx: AppContext, account_id: str | None, file_id: str) -> FileRecord:
        found = await real(ctx, account_id, file_id)
        await ctx.db.write(lambda tx: tx.execute(change))
        return found

    monkeypatch.setattr(views, "find", look_and_lose)
    answer = stranger.get(path)
    assert (answer.status_code, answer.json()["error"]) == refused


def test_bytes_that_are_lost_are_reported_to_the_operator(
    site: Site, stranger: httpx2.Client
) -> None:
    """To the caller the file is gone, whoever removed its bytes."""
    file = site.file(site.work(), "a.txt", "a.txt")
    with capture_logs() as logs:
        answer = stranger.get(link_of(site, file))
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert [line["blob"] for line in logs if line["event"] == "bytes_lost"] == [file.blob]
