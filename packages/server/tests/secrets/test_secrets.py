"""Which secrets sign, and which count still."""

import pytest

from agentpost.context import AppContext
from agentpost.domain.times import SECOND
from agentpost.secrets.actions import server_secrets
from agentpost.storage.post_policy import PolicySigner, PostRefused
from tests.harness.databases import ON_SQLITE


@ON_SQLITE
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
