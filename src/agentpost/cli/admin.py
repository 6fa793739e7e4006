"""Commands for the operator. They write through the same services as the server, beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentpost.cli.commands import group
from agentpost.cli.context import AsJson, guarded, show, show_rows, with_context
from agentpost.cli.errors import EXIT_USAGE, fail, say

if TYPE_CHECKING:
    from agentpost.domain.records import AccountRecord, KeyRecord
    from agentpost.services.context import AppContext

Account = Annotated[str, typer.Argument(help="Account id or e-mail address.")]
KEY_COLUMNS = ("id", "account_id", "name", "hint", "last_used_at", "expires_at", "revoked_at")
_LIFETIME = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def attach(app: typer.Typer) -> None:
    """Add the operator's commands."""
    groups: dict[str, tuple[str, list[tuple[str, Callable[..., None]]]]] = {
        "accounts": ("Accounts.", [("create", accounts_create), ("list", accounts_list)]),
        "keys": (
            "API keys.",
            [("create", keys_create), ("list", keys_list), ("revoke", keys_revoke)],
        ),
        "credits": ("Credits.", [("add", credits_add), ("show", credits_show)]),
        "hosting-fees": ("Hosting fees.", [("due", fees_due), ("clear", fees_clear)]),
        "config": ("Settings.", [("show", config_show)]),
        "db": (
            "The database.",
            [("upgrade", db_upgrade), ("adopt-storage", db_adopt_storage)],
        ),
    }
    for name, (text, commands) in groups.items():
        part = group(text)
        for command, function in commands:
            part.command(command, context_settings=_CONTEXTS.get(function))(function)
        app.add_typer(part, name=name)
    app.command("doctor")(doctor_command)


def accounts_create(
    email: Annotated[str, typer.Option(help="E-mail address of the owner.")],
    name: Annotated[str, typer.Option(help="Name shown to clients.")] = "",
    amount: Annotated[float, typer.Option("--credits", help="Opening balance.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Create an account."""
    from agentpost.services import accounts

    account = with_context(lambda ctx: accounts.create(ctx, email, name or email, amount))
    show(_account(account), as_json, f"{account.id}  {account.email}")


def accounts_list(as_json: AsJson = False) -> None:
    """List accounts."""
    from agentpost.services import accounts

    found = [_account(a) for a in with_context(accounts.all_accounts)]
    show_rows(found, as_json, ("id", "email", "name", "credits"))


def keys_create(
    account: Annotated[str, typer.Option(help="Account id or e-mail address.")],
    name: Annotated[str, typer.Option(help="A nickname for the key.")],
    expires: Annotated[str | None, typer.Option(help="Lifetime, e.g. 12h or 30d.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create an API key. The key itself is shown only now."""
    from agentpost.services import accounts

    lifetime = _lifetime(expires)
    new = with_context(lambda ctx: accounts.create_key(ctx, account, name, lifetime))
    show({**_key(new.record), "key": new.secret}, as_json, new.secret)


def keys_list(as_json: AsJson = False) -> None:
    """List API keys (never the keys themselves)."""
    from agentpost.services import accounts

    found = [_key(k) for k in with_context(accounts.all_keys)]
    show_rows(found, as_json, KEY_COLUMNS)


def keys_revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, key_….")], as_json: AsJson = False
) -> None:
    """Revoke a key; it stops working within a second."""
    from agentpost.services import accounts

    with_context(lambda ctx: accounts.revoke_key(ctx, key_id))
    show({"id": key_id, "revoked": True}, as_json, f"{key_id} is revoked")


def credits_add(
    account: Account,
    amount: Annotated[float, typer.Argument(help="Credits to add; a negative number removes.")],
    note: Annotated[str, typer.Option(help="Kept in the ledger.")] = "added by command",
    as_json: AsJson = False,
) -> None:
    """Add or remove credits; work that waits for them continues within a second."""
    from agentpost.services import credits

    after = with_context(lambda ctx: credits.add(ctx, account, amount, note))
    show(_account(after), as_json, f"{after.email}: {_available(after)}")


def credits_show(account: Account, as_json: AsJson = False) -> None:
    """Show an account's credits and their last moves."""
    from agentpost.domain.credits import to_credits
    from agentpost.domain.times import iso
    from agentpost.services import accounts

    async def read(ctx: AppContext) -> tuple[AccountRecord, list[dict[str, Any]]]:
        found = await accounts.find(ctx, account)
        moves = [
            {
                "at": iso(line.at),
                "kind": line.kind,
                "amount": to_credits(line.amount),
                "job_id": line.job_id,
                "note": line.note,
            }
            for line in await accounts.ledger(ctx, found.id)
        ]
        return found, moves

    found, moves = with_context(read)
    if as_json:
        show({**_account(found), "ledger": moves}, as_json, "")
        return
    print(f"{found.email}: {_available(found)}")
    show_rows(moves, False, ("at", "kind", "amount", "job_id", "note"))


def fees_due(account: Account, as_json: AsJson = False) -> None:
    """Refuse new work until fees are paid."""
    from agentpost.services import accounts

    with_context(lambda ctx: accounts.set_hosting_fees(ctx, account, True))
    show({"account": account, "hosting_fees": "due"}, as_json, f"{account}: hosting fees are due")


def fees_clear(account: Account, as_json: AsJson = False) -> None:
    """Let new work start again."""
    from agentpost.services import accounts

    with_context(lambda ctx: accounts.set_hosting_fees(ctx, account, False))
    show({"account": account, "hosting_fees": "clear"}, as_json, f"{account}: nothing is due")


def config_show(as_json: AsJson = False) -> None:
    """Show the settings in force, secrets masked; exit 1 when `serve` would refuse them."""
    from pydantic import SecretStr

    from agentpost.cli.checking import problems, warnings
    from agentpost.settings import load_settings

    settings = guarded(load_settings)
    shown = {
        name: ("********" if value.get_secret_value() else "")
        if isinstance(value, SecretStr)
        else value
        for name, value in settings
    }
    shown["data_dir"] = str(settings.data_path)
    if as_json:
        print(json.dumps(shown, indent=2))
    else:
        for name, value in shown.items():
            print(f"{name} = {json.dumps(value)}")
    for warning in warnings(settings):
        say(warning)
    refused = list(problems(settings))
    for problem in refused:
        say(problem)
    if refused:
        raise typer.Exit(1)


def db_upgrade(as_json: AsJson = False) -> None:
    """Bring the database schema up to date (serve does it too)."""
    from agentpost import bootstrap
    from agentpost.settings import load_settings

    settings = guarded(load_settings)
    guarded(lambda: bootstrap.upgrade_database(settings))
    show({"upgraded": True}, as_json, "The database schema is up to date.")


def db_adopt_storage(as_json: AsJson = False) -> None:
    """Accept the configured file storage as the one that belongs to this database."""
    from agentpost.services import storage_identity

    name = with_context(storage_identity.adopt)
    text = f"The file storage {name} belongs to this database from now on."
    show({"storage_id": name}, as_json, text)


def doctor_command(
    full: Annotated[bool, typer.Option("--full", help="Compare all files, not samples.")] = False,
    as_json: AsJson = False,
) -> None:
    """List failing stores and overdue, lost or left-over rows; exit 1 when there are any."""
    from agentpost import bootstrap
    from agentpost.services import doctor
    from agentpost.settings import load_settings

    settings = guarded(load_settings)
    if bootstrap.is_new(settings):  # opening it would make a new one, where all is well
        text = f"there is no database in {settings.data_path}; if there was one, restore a backup"
        findings = [doctor.Finding("database", "missing", text).as_dict()]
    else:
        findings = [
            finding.as_dict() for finding in with_context(partial(doctor.examine, full=full))
        ]
    if as_json:
        print(json.dumps({"ok": not findings, "findings": findings}, indent=2))
    elif not findings:
        print("Everything open has an owner or a deadline.")
    else:
        show_rows(findings, False, ("id", "state", "problem"))
    if findings:
        raise typer.Exit(1)


_CONTEXTS: dict[Callable[..., None], dict[str, Any]] = {
    # -25 is an amount, not an option that is unknown.
    credits_add: {"ignore_unknown_options": True},
}


# --- parts ----------------------------------------------------------------------------------------
def _lifetime(text: str | None) -> float | None:
    if text is None:
        return None
    match = _LIFETIME.fullmatch(text)
    if match is None or int(match[1]) == 0:
        fail("--expires takes a number with s, m, h or d, e.g. 30d.", EXIT_USAGE)
    return int(match[1]) * _UNITS[match[2]]


def _available(account: AccountRecord) -> str:
    from agentpost.domain.credits import to_credits
    from agentpost.domain.text import human_credits

    return human_credits(to_credits(account.wallet.available))


def _account(account: AccountRecord) -> dict[str, Any]:
    from agentpost.domain.credits import to_credits
    from agentpost.domain.times import iso

    return {
        "id": account.id,
        "email": account.email,
        "name": account.name,
        "credits": to_credits(account.wallet.available),
        "held": to_credits(account.held),
        "hosting_fees_due": bool(account.hosting_fees_due),
        "created_at": iso(account.created_at),
    }


def _key(key: KeyRecord) -> dict[str, Any]:
    from agentpost.domain.times import iso

    return {
        "id": key.id,
        "account_id": key.account_id,
        "name": key.name,
        "hint": f"…{key.hint}",
        "created_at": iso(key.created_at),
        "last_used_at": iso(key.last_used_at) if key.last_used_at else None,
        "expires_at": iso(key.expires_at) if key.expires_at else None,
        "revoked_at": iso(key.revoked_at) if key.revoked_at else None,
    }
