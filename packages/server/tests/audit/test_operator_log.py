"""The audit log, and accounts that are disabled."""

import json
from pathlib import Path

import pytest

from agentpost.accounts import actions as accounts, rows as account_rows
from agentpost.audit import actions as audit
from agentpost.audit.actions import Action, Actor
from agentpost.audit.refusals import KEPT_PER_MINUTE, MORE
from agentpost.cli import app
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.times import SECOND
from agentpost.retention import actions as retention

ADA = Actor("ada", "command", "host")


async def do(ctx: AppContext, name: str, target: str = "", *, fails: bool = False) -> None:
    async def work() -> None:
        if fails:
            raise ValueError("no")

    await audit.record_call(ctx, ADA, Action(name, target, {"n": 1, "m": None}), work)


async def test_of_a_flood_of_refusals_the_first_are_kept_and_the_rest_counted(
    ctx: AppContext, clock: ManualClock
) -> None:
    async def refuse() -> None:
        raise not_found("message")

    async def succeed() -> None:
        pass

    key, other = Actor("key_1", "api", "::1"), Actor("key_2", "api", "::1")
    clock.advance(60 - clock.now() // SECOND % 60)  # a minute begins
    for n in range(KEPT_PER_MINUTE + 5):
        clock.advance(1)
        with pytest.raises(Refusal):
            await audit.record_call(ctx, key, Action("messages delete", f"m{n}"), refuse)
    clock.advance(1)
    await audit.record_call(ctx, key, Action("messages delete", "done"), succeed)
    with pytest.raises(Refusal):
        await audit.record_call(ctx, other, Action("work delete", "w"), refuse)
    kept, _ = await audit.page(ctx, who="key_1")
    assert [(each.target, each.outcome) for each in kept] == [
        ("done", "done"),
        *((f"m{n}", "failed") for n in reversed(range(KEPT_PER_MINUTE))),
    ]
    assert [json.loads(each.detail_json).get(MORE) for each in kept[:3]] == [None, 5, None]
    assert await names(ctx, who="key_2") == ["work delete"]
    clock.advance(60)
    with pytest.raises(Refusal):
        await audit.record_call(ctx, key, Action("messages delete", "later"), refuse)
    assert await names(ctx, target="later") == ["messages delete"]


async def names(ctx: AppContext, who: str = "", action: str = "", target: str = "") -> list[str]:
    found, _ = await audit.page(ctx, who=who, action=action, target=target)
    return [each.action for each in found]


async def test_actions_are_kept_with_their_outcome(ctx: AppContext, clock: ManualClock) -> None:
    await do(ctx, "keys create", "a")
    clock.advance(1)
    with pytest.raises(ValueError, match="no"):
        await do(ctx, "keys revoke", "b", fails=True)
    clock.advance(1)
    await do(ctx, "users remove", "a")
    found, _ = await audit.page(ctx)
    assert [(e.action, e.outcome) for e in found] == [
        ("users remove", "done"),
        ("keys revoke", "failed"),
        ("keys create", "done"),
    ]
    assert json.loads(found[0].detail_json) == {"n": 1}
    _, more = await audit.page(ctx, limit=2)
    rest, end = await audit.page(ctx, more, limit=2)
    assert ([e.action for e in rest], end) == (["keys create"], None)
    assert await names(ctx, action="keys") == ["keys revoke", "keys create"]
    assert await names(ctx, target="a") == ["users remove", "keys create"]
    assert await names(ctx, who="ada", action="keys", target="b") == ["keys revoke"]
    assert await names(ctx, who="eve") == await names(ctx, action="%remove") == []
    await retention.rest(ctx)
    assert len(await names(ctx)) == 3
    clock.advance(401 * 86_400)
    await retention.rest(ctx)
    assert await names(ctx) == []


async def test_a_disabled_accounts_keys_are_refused(ctx: AppContext, account: str) -> None:
    key = await accounts.create_key(ctx, account, "ci")
    now, ids = ctx.clock.now(), [key.record.id]
    for disabled in (True, True, False):
        await accounts.set_disabled(ctx, account, disabled=disabled)
        known = await accounts.find_key(ctx, key.secret)
        assert known is not None
        assert accounts.is_live(known, now) is not disabled
        ended = await ctx.db.read(lambda tx: account_rows.ended_holders(tx, ids, now))
        assert ended == (ids if disabled else [])
    await accounts.revoke_key(ctx, key.record.id)
    known = await accounts.find_key(ctx, key.secret)
    assert known is not None
    assert not accounts.is_live(known, now)


def test_commands_are_recorded_and_no_secret_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            app(list(arguments))
        assert ended.value.code in (0, None)
        return capsys.readouterr().out

    run("db", "upgrade")
    run("accounts", "create", "--email", "eve@example.com")
    key = run("keys", "create", "--account", "eve@example.com", "--name", "ci").strip()
    assert "disabled" in run("accounts", "disable", "eve@example.com")
    shown = run("audit", "--json")
    actions = json.loads(shown)["data"]
    assert [each["action"] for each in actions] == [
        "accounts disable",
        "keys create",
        "accounts create",
    ]
    assert key not in shown
    assert actions[1]["detail"] == {"name": "ci", "scopes": "send,read,admin"}
