"""Which secrets sign, and which count still."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.domain.times import SECOND
from agentpost.secrets.actions import server_secrets
from agentpost.storage.post_policy import PolicySigner, PostRefused
from tests.harness.databases import open_context


@pytest.fixture
async def ctx(tmp_path: Path) -> AsyncIterator[AppContext]:
    async with open_context(tmp_path, ManualClock()) as made:
        yield made


async def test_the_given_key_signs_and_earlier_ones_count(ctx: AppContext) -> None:
    with pytest.raises(ValueError, match="AGENTPOST_SECRET_KEYS_BEFORE"):
        await server_secrets(ctx.db, "given", "generated")
    [made] = await server_secrets(ctx.db, "", "")
    assert await server_secrets(ctx.db, "", "") == [made]
    assert await server_secrets(ctx.db, "given", "") == [b"given"]
    listed = await server_secrets(ctx.db, "given", " generated, older ,")
    assert listed == [b"given", made, b"older"]


def test_a_form_of_an_earlier_secret_is_taken() -> None:
    now = 1_800_000_000 * SECOND
    fields = PolicySigner(b"old").fields("upl_1", "text/csv", 10, now + SECOND)
    form = {name.lower(): value for name, value in fields.items()}
    assert PolicySigner(b"new", [b"old"]).check(form, now).upload_id == "upl_1"
    with pytest.raises(PostRefused, match="does not match"):
        PolicySigner(b"new").check(form, now)
