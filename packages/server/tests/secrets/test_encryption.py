"""Secrets of webhook endpoints are encrypted in the database."""

import pytest

from agentpost.context import AppContext
from agentpost.operations import doctor
from agentpost.secrets.encryption import SecretCipher, SecretUnreadable, hkdf
from agentpost.webhooks import endpoint_rows, endpoints, secrets
from agentpost.webhooks.signing import new_secret
from tests.harness.databases import ON_SQLITE

URL = "https://hooks.example.com/in"


async def stored_secret(ctx: AppContext, endpoint_id: str) -> str:
    found = await ctx.db.read(lambda tx: endpoint_rows.get(tx, endpoint_id))
    assert found is not None
    return found.secret


def test_the_key_is_derived_as_rfc_5869_says() -> None:
    """Its first test case."""
    made = hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)), 42)
    assert made.hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )


def test_a_value_is_bound_to_its_row_and_its_key() -> None:
    cipher, secret = SecretCipher([b"new"]), new_secret()
    value = cipher.encrypt("we_1", secret)
    assert secret not in value
    assert cipher.encrypt("we_1", secret) != value
    assert cipher.decrypt("we_1", value) == secret
    assert SecretCipher([b"newer", b"new"]).decrypt("we_1", value) == secret
    format_, key_id, text = value.split(":")
    changed = text[:40] + ("A" if text[40] != "A" else "B") + text[41:]
    others = ("we_1", f"{format_}:{key_id}:{changed}"), ("we_1", f"{format_}:{key_id}:?")
    for row_id, each in [("we_2", value), *others]:
        with pytest.raises(SecretUnreadable):
            cipher.decrypt(row_id, each)
    with pytest.raises(SecretUnreadable, match="rotate"):
        SecretCipher([b"other"]).decrypt("we_1", value)
    other = SecretCipher([b"other"])
    mine = other.encrypt("we_1", secret)
    assert other.signing_keys("we_1", (mine, value)) == (secret,)  # an earlier one may be lost


def test_many_deliveries_decrypt_once() -> None:
    cipher = SecretCipher([b"key"])
    value = cipher.encrypt("we_1", "whsec_x")
    for _ in range(1_000):
        assert cipher.signing_keys("we_1", (value,)) == ("whsec_x",)
    assert cipher.operations == 1


@ON_SQLITE
async def test_reencryption_makes_an_earlier_key_superfluous(ctx: AppContext, account: str) -> None:
    kept = await endpoints.create(ctx, account, URL, None, None)
    ctx.cipher = SecretCipher([b"lost"])
    lost = await endpoints.create(ctx, account, URL, None, None)
    ctx.cipher = SecretCipher([b"new", b"secret"])
    newest = await endpoints.create(ctx, account, URL, None, None)
    done = await secrets.reencrypt(ctx)
    assert (done.encrypted, done.current, done.unreadable) == (1, 1, [lost.id])
    ctx.cipher = SecretCipher([b"new"])
    for each in (kept, newest):
        assert ctx.cipher.decrypt(each.id, await stored_secret(ctx, each.id)) == each.secret
    assert len(await secrets.unknown_keys(ctx)) == 1
    named = {f.id: f.problem for f in await doctor.examine(ctx) if f.state == "unreadable"}
    assert named == {lost.id: secrets.UNREADABLE}
    repaired = await endpoints.rotate(ctx, account, lost.id)
    assert await secrets.unreadable(ctx) == []
    assert ctx.cipher.decrypt(lost.id, await stored_secret(ctx, lost.id)) == repaired.secret
