"""`agentpost keys`: create, list, rotate, restrict and revoke API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentpost.cli import exits, given
from agentpost.cli.commands import command
from agentpost.cli.context import change, option_value, with_context
from agentpost.cli.errors import fail, say
from agentpost.cli.printing import Result, fields, listing, print_text

if TYPE_CHECKING:
    from agentpost.accounts.network_rules import Network
    from agentpost.record.records import KeyRecord

_COLUMNS = (
    *("id", "name", "hint", "scopes=@scopes", "expires_at", "revoked_at", "last_used_at"),
    *("allow_ips=@allow_ips", "account_id"),
)
_KEY = (
    *("id", "account_id", "name", "hint", "scopes", "allow_ips", "max_credits_per_day"),
    *("created_at", "last_used_at", "expires_at", "revoked_at", "old_hint", "old_until"),
)
KeyId = Annotated[str, typer.Argument(help="Id of the key, key_….")]


@command(
    "keys create",
    "agentpost keys create --account team@example.com --name ci --expires 30d",
    "agentpost keys create --account team@example.com --name ro --scopes read",
    "agentpost keys create --account a@acme.org --name hq --allow-ip 10.0.0.0/8",
)
def keys_create(
    account: Annotated[str, typer.Option(help="Account id or e-mail address.")],
    name: Annotated[str, typer.Option(help="Name of the key.")],
    expires: Annotated[str | None, typer.Option(help="Lifetime, such as 12h or 30d.")] = None,
    scopes: Annotated[
        str, typer.Option(help="Some of send, read, admin, read_all.")
    ] = "send,read,admin",
    max_credits_per_day: Annotated[
        float | None, typer.Option(help="Credits that its messages may use in a UTC day.")
    ] = None,
    allow_ip: Annotated[
        list[str] | None,
        typer.Option(help="Address or network it works from; repeatable."),
    ] = None,
) -> Result:
    """Create an API key. The key is shown only now.

    The key goes to standard output; its id, name, scopes and expiry go to standard error.
    """
    from agentpost.accounts import actions as accounts
    from agentpost.accounts.scope_rules import parse

    lifetime = given.span(expires, "--expires")
    if lifetime == 0:
        fail("--expires takes a time above zero, such as 30d", exits.USAGE)
    key_scopes = option_value(lambda: parse(scopes.split(",")))
    limit, allowed = max_credits_per_day, _networks(allow_ip)
    new = change(
        lambda ctx: accounts.create_key(ctx, account, name, lifetime, key_scopes, limit, allowed),
        account,
        {"name": name, "scopes": scopes, "expires": expires, "allow_ips": allow_ip},
    )
    shape = _key(new.record)
    expiry = f"expires {shape['expires_at']}" if shape["expires_at"] else "does not expire"
    about = f"{new.record.id} {name!r} · {', '.join(shape['scopes'])} · {expiry}"
    return _new_key(shape, new.secret, about)


@command("keys list", "agentpost keys list --json")
def keys_list() -> Result:
    """List API keys, without the keys themselves."""
    from agentpost.accounts import rows as account_rows

    keys = [_key(key) for key in with_context(lambda ctx: ctx.db.read(account_rows.keys))]
    as_options = {  # with commas and no blanks
        "scopes": lambda key: ",".join(key["scopes"]),
        "allow_ips": lambda key: ",".join(key["allow_ips"]),
    }
    return listing(keys, _COLUMNS, compute=as_options)


@command(
    "keys rotate",
    "agentpost keys rotate key_0660c5 --overlap 2h",
    "agentpost keys rotate key_0660c5 --overlap 0",
)
def keys_rotate(
    key_id: KeyId,
    overlap: Annotated[
        str, typer.Option(help="How long the old key keeps working: 30m, 24h, 7d, or 0.")
    ] = "24h",
) -> Result:
    """Replace a key by a new one, which is shown only now. Name, scopes and limits stay."""
    from agentpost.accounts import actions as accounts
    from agentpost.domain.times import iso

    span = 0 if overlap == "0" else given.span(overlap, "--overlap") or 0
    new = change(lambda ctx: accounts.rotate(ctx, key_id, span), key_id, {"overlap": overlap})
    about = "the old key no longer works"
    if until := new.record.old_until:
        about = f"the old key, …{new.record.old_hint}, works until {iso(until)}"
    return _new_key(_key(new.record), new.secret, about)


@command(
    "keys allow",
    "agentpost keys allow key_0660c5 --ip 203.0.113.0/24 --ip 2001:db8::/32",
    "agentpost keys allow key_0660c5 --from-everywhere",
)
def keys_allow(
    key_id: KeyId,
    ip: Annotated[
        list[str] | None,
        typer.Option(help="Address or network the key works from; repeatable."),
    ] = None,
    from_everywhere: Annotated[
        bool, typer.Option("--from-everywhere", help="Allow every address.")
    ] = False,
) -> Result:
    """Set the addresses a key works from; the change takes effect within a second."""
    from agentpost.accounts import actions as accounts

    if bool(ip) == from_everywhere:
        fail("use --ip, once for each network, or --from-everywhere", exits.USAGE)
    allowed = _networks(ip)
    about = {"allow_ips": [str(each) for each in allowed]}
    key = change(lambda ctx: accounts.allow(ctx, key_id, allowed), key_id, about)
    where = ", ".join(map(str, allowed)) or "everywhere"
    return Result(_key(key), f"{key_id} works from {where}")


@command("keys revoke", "agentpost keys revoke key_0660c5")
def keys_revoke(key_id: KeyId) -> Result:
    """Revoke a key; it stops working within a second."""
    from agentpost.accounts import actions as accounts

    change(lambda ctx: accounts.revoke_key(ctx, key_id), key_id)
    return Result({"id": key_id, "revoked": True}, f"{key_id} is revoked")


# --- parts ----------------------------------------------------------------------------------------
def _new_key(shape: dict[str, Any], secret: str, about: str) -> Result:
    """``about`` goes to standard error, for people only: a script takes the key alone."""

    def show() -> None:
        say(about)
        print_text(secret)

    return Result({**shape, "key": secret}, show)


def _networks(texts: list[str] | None) -> tuple[Network, ...]:
    from agentpost.accounts.network_rules import parse

    return option_value(lambda: parse(texts or ()))


def _key(key: KeyRecord) -> dict[str, Any]:
    from agentpost.accounts.network_rules import of_stored as networks_of
    from agentpost.accounts.scope_rules import in_order, of_stored
    from agentpost.domain.credits import to_credits

    most = key.max_credits_per_day
    return fields(
        key,
        _KEY,
        hint=f"…{key.hint}",
        scopes=in_order(of_stored(key.scopes)),
        allow_ips=[str(each) for each in networks_of(key.networks)],
        max_credits_per_day=None if most is None else to_credits(most),
        old_hint=f"…{key.old_hint}" if key.old_hint else None,
    )
