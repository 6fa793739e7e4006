"""Commands for the operator. They write through the same services as the server, beside it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentpost.cli.commands import command
from agentpost.cli.context import change, run_or_exit, with_context
from agentpost.cli.errors import say
from agentpost.cli.printing import Result, fields, listing, print_text

if TYPE_CHECKING:
    from agentpost.db.session import Tx
    from agentpost.record.records import AccountRecord, LedgerRecord

Account = Annotated[str, typer.Argument(help="Account id or e-mail address.")]
_ACCOUNT = (
    *("id", "email", "name", "credits", "held", "hosting_fees_due"),
    *("created_at", "disabled_at", "deleted_at"),
)
_MOVES_SHOWN = 20
_MOVE = ("at", "kind", "amount", "job_id", "note")


@command("accounts create", "agentpost accounts create --email team@example.com --credits 50")
def accounts_create(
    email: Annotated[str, typer.Option(help="E-mail address of the owner.")],
    name: Annotated[str, typer.Option(help="Name shown to clients.")] = "",
    amount: Annotated[float, typer.Option("--credits", help="Opening balance.")] = 0,
) -> Result:
    """Create an account."""
    from agentpost.accounts import actions as accounts

    account = change(
        lambda ctx: accounts.create(ctx, email, name or email, amount), email, {"credits": amount}
    )
    return Result(_account(account), f"{account.id}  {account.email}")


@command("accounts list", "agentpost accounts list")
def accounts_list() -> Result:
    """List accounts."""
    from agentpost.accounts import rows as account_rows

    accounts = with_context(lambda ctx: ctx.db.read(account_rows.all_))
    rows = [_account(each) for each in accounts]
    return listing(rows, ("id", "email", "name", "credits"))


@command("accounts disable", "agentpost accounts disable team@example.com")
def accounts_disable(account: Account) -> Result:
    """Disable an account: its keys and sessions are refused, running work continues."""
    return _set_disabled(account, True)


@command("accounts enable", "agentpost accounts enable team@example.com")
def accounts_enable(account: Account) -> Result:
    """Enable a disabled account."""
    return _set_disabled(account, False)


@command(
    "credits add",
    'agentpost credits add team@example.com 25 --note "invoice 7"',
    "agentpost credits add team@example.com -5",
    context_settings={"ignore_unknown_options": True},
)
def credits_add(
    account: Account,
    amount: Annotated[float, typer.Argument(help="Credits to add; a negative number removes.")],
    note: Annotated[str, typer.Option(help="Note in the ledger.")] = "added by command",
) -> Result:
    """Add or remove credits; work that waits for credits continues."""
    from agentpost.credits import actions as credits

    after = change(
        lambda ctx: credits.add(ctx, account, amount, note),
        account,
        {"amount": amount, "note": note},
    )
    return Result(_account(after), f"{after.email}: {_available(after)}")


@command("credits show", "agentpost credits show team@example.com")
def credits_show(account: Account) -> Result:
    """Show an account's credits and the latest ledger entries."""
    from agentpost.accounts import rows as account_rows
    from agentpost.domain.credits import to_credits

    def read(tx: Tx) -> tuple[AccountRecord, list[LedgerRecord]]:
        account_record = account_rows.find_existing(tx, account)
        return account_record, account_rows.ledger(tx, account_record.id, _MOVES_SHOWN)

    account_record, lines = with_context(lambda ctx: ctx.db.read(read))
    moves = [fields(line, _MOVE, amount=to_credits(line.amount)) for line in lines]

    def show() -> None:
        print_text(f"{account_record.email}: {_available(account_record)}")
        listing(moves, _MOVE).print()

    return Result({**_account(account_record), "ledger": moves}, show)


@command("hosting-fees due", "agentpost hosting-fees due team@example.com")
def fees_due(account: Account) -> Result:
    """Mark hosting fees as due: new work is refused."""
    return _set_fees(account, "due", "hosting fees are due")


@command("hosting-fees clear", "agentpost hosting-fees clear team@example.com")
def fees_clear(account: Account) -> Result:
    """Mark hosting fees as paid: new work is accepted."""
    return _set_fees(account, "clear", "nothing is due")


def _set_fees(account: str, state: str, text: str) -> Result:
    from agentpost.accounts import actions as accounts

    change(lambda ctx: accounts.set_hosting_fees(ctx, account, state == "due"), account)
    return Result({"account": account, "hosting_fees": state}, f"{account}: {text}")


@command("config show", "agentpost config show")
def config_show() -> Result:
    """Show the settings, secrets masked; exit code 1 when they are invalid."""
    from pydantic import SecretStr

    from agentpost.serving.checks import problems, warnings
    from agentpost.settings import load_settings

    settings = run_or_exit(load_settings)
    values = {
        name: ("********" if value.get_secret_value() else "")
        if isinstance(value, SecretStr)
        else value
        for name, value in settings
    }
    values["data_dir"] = run_or_exit(lambda: str(settings.data_path))
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    faults = list(problems(settings))
    return Result(values, lines, notes=[*warnings(settings), *faults], code=1 if faults else 0)


@command("db upgrade", "agentpost db upgrade")
def db_upgrade() -> Result:
    """Upgrade the database schema, as `serve` does when it starts."""
    from agentpost import bootstrap
    from agentpost.settings import load_settings

    settings = run_or_exit(load_settings)
    run_or_exit(lambda: bootstrap.upgrade_database(settings))
    return Result({"upgraded": True}, "The database schema is up to date.")


@command("db adopt-storage", "agentpost db adopt-storage")
def db_adopt_storage() -> Result:
    """Accept the configured file storage as the one of this database."""
    from agentpost.blobs import identity

    name = change(identity.adopt)
    text = f"The file storage {name} belongs to this database from now on."
    return Result({"storage_id": name}, text)


@command("db secret-key", "agentpost db secret-key > secret.key")
def db_secret_key() -> Result:
    """Print the secret key, which backups do not contain.

    Earlier keys are printed as well while they still encrypt endpoint secrets.
    """
    from agentpost.secrets import actions as secrets

    keys = change(secrets.to_keep, upgrade=False)
    return Result({"secret_keys": keys}, "\n".join(keys))


@command("db reencrypt", "agentpost db reencrypt --json")
def db_reencrypt() -> Result:
    """Encrypt endpoint secrets with the current secret key.

    Earlier keys can then be deleted. The exit code is 1 when a secret cannot be decrypted.
    """
    from agentpost.webhooks import secrets

    result = change(secrets.reencrypt)
    line = (
        f"Encrypted with the current key: {result.encrypted} now, {result.current} before."
        f" Cannot be decrypted: {len(result.unreadable)}."
    )

    def show() -> None:
        print_text(line)
        for endpoint_id in result.unreadable:
            say(f"{endpoint_id}: {secrets.UNREADABLE}")

    return Result(asdict(result), show, code=1 if result.unreadable else 0)


# --- parts ----------------------------------------------------------------------------------------
def _available(account: AccountRecord) -> str:
    from agentpost.domain.credits import to_credits
    from agentpost.domain.text import human_credits

    return human_credits(to_credits(account.wallet.available))


def _set_disabled(account: str, disabled: bool) -> Result:
    from agentpost.accounts import actions as accounts

    after = change(lambda ctx: accounts.set_disabled(ctx, account, disabled=disabled), account)
    line = f"{after.email} is {'disabled: its keys answer 401' if disabled else 'enabled'}"
    return Result(_account(after), line)


def _account(account: AccountRecord) -> dict[str, Any]:
    from agentpost.domain.credits import to_credits

    return fields(
        account,
        _ACCOUNT,
        credits=to_credits(account.wallet.available),
        held=to_credits(account.held),
        hosting_fees_due=bool(account.hosting_fees_due),
    )
