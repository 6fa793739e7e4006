"""A link followed in the moment its file goes: told before the first byte, not in the middle."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import Response
from structlog.testing import capture_logs

from agentpost.api.auth import Keys
from agentpost.api.operation import Api
from agentpost.context import AppContext
from agentpost.domain.errors import Refusal
from agentpost.files import routes as file_routes
from agentpost.files.links import SignedLinks
from agentpost.jobs import works
from agentpost.record.records import FileRecord
from tests.harness.driver import ManualHarness, manual_harness


@dataclass
class Linked:
    """A file with a link to it."""

    at: ManualHarness
    work_id: str
    url: str

    async def follow(self) -> Response:
        parts = urlsplit(self.url)
        scope = {
            "type": "http",
            "method": "GET",
            "path": parts.path,
            "path_params": {"file_id": f"{self.work_id}/a"},
            "query_string": parts.query.encode(),
            "headers": [],
        }
        links = self.at.ctx.links
        assert isinstance(links, SignedLinks)
        return await file_routes.download(
            Api(self.at.ctx, Keys(self.at.ctx)), links._signer, Request(scope)
        )

    async def write(self, sql: str, *params: object) -> None:
        await self.at.ctx.db.write(lambda tx: tx.execute(sql, params))


@pytest.fixture
async def linked(tmp_path: Path) -> AsyncIterator[Linked]:
    async with manual_harness(tmp_path) as at:
        await at.working()
        work_id = str((await at.rows("SELECT id FROM works"))[0][0])
        made = Linked(at, work_id, at.ctx.links.file(f"{work_id}/a", '"r1"'))
        await made.write(
            "INSERT INTO files (work_id, path, account_id, name, content_type, kind, size,"
            " revision, blob, created_at, replaced)"
            " VALUES (?, 'a', ?, 'a', 'text/plain', 'text', 1, '\"r1\"', 'files/a', 0, 0)",
            work_id,
            at.caller.account_id,
        )
        yield made


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE works SET deleted_at = 1", "not_found"),
        ("UPDATE files SET revision = '\"r2\"'", "file_changed"),
    ],
)
async def test_it_went_this_moment(
    linked: Linked, monkeypatch: pytest.MonkeyPatch, change: str, code: str
) -> None:
    """Between the look at its record and the opening of its bytes."""
    real = works.linked_file

    async def look_and_lose(ctx: AppContext, file_id: str) -> FileRecord:
        found = await real(ctx, file_id)
        await linked.write(change)
        return found

    monkeypatch.setattr(works, "linked_file", look_and_lose)
    with pytest.raises(Refusal) as refused:
        await linked.follow()
    assert refused.value.code == code


async def test_bytes_that_are_lost_are_reported_to_the_operator(linked: Linked) -> None:
    """To the caller the file is gone, whoever removed its bytes."""
    with capture_logs() as logs, pytest.raises(Refusal) as refused:
        await linked.follow()
    assert refused.value.code == "not_found"
    assert [(line["event"], line["blob"]) for line in logs] == [("bytes_lost", "files/a")]
