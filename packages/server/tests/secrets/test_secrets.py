"""Which secrets sign, and which count still."""

import pytest
from pydantic import SecretStr

from agentpost.context import AppContext
from agentpost.domain.times import SECOND
from agentpost.secrets.actions import server_secrets
from agentpost.storage.post_policy import PolicySigner, PostRefused
from tests.harness.databases import ON_SQLITE


@ON_SQLITE
async def test_the_given_key_signs_and_earlier_ones_count(ctx: AppContext) -> None:
    async def of(key: str, before: str = "") -> tuple[list[bytes], list[bytes]]:
        values = {"secret_key": SecretStr(key), "secret_keys_before": SecretStr(before)}
        return await server_secrets(ctx.db, ctx.settings.model_copy(update=values))

    with pytest.raises(ValueError, match="AGENTPOST_SECRET_KEYS_BEFORE"):
        await of("given", "generated")
    assert await of("given") == ([b"given"], [b"given"])
    [made], _ = await of("")
    assert await of("") == ([made], [made, made])
    assert await of("given") == ([b"given"], [b"given", made])
    signing, _ = await of("given", " generated, older ,")
    assert signing == [b"given", made, b"older"]


def test_a_form_of_an_earlier_secret_is_taken() -> None:
    now = 1_800_000_000 * SECOND
    fields = PolicySigner(b"old").fields("upl_1", "text/csv", 10, now + SECOND)
    form = {name.lower(): value for name, value in fields.items()}
    assert PolicySigner(b"new", [b"old"]).check(form, now).upload_id == "upl_1"
    with pytest.raises(PostRefused, match="does not match"):
        PolicySigner(b"new").check(form, now)
