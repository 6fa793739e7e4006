"""Commands for the people who sign in to the web app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentpost.cli.commands import command
from agentpost.cli.context import change, with_context
from agentpost.cli.printing import Result, fields, listing
from agentpost.users.role_rules import Role

if TYPE_CHECKING:
    from agentpost.context import AppContext
    from agentpost.sessions.password_links import PasswordLink
    from agentpost.users.records import UserRecord

User = Annotated[str, typer.Argument(help="User id or e-mail address.")]
RoleName = Annotated[Role, typer.Option("--role", help="operator, owner or member.")]
_COLUMNS = ("id", "email", "role", "accepted", "last_login_at", "account_id")
_FIELDS = (
    *("id", "account_id", "email=address", "role", "accepted", "invited_by", "created_at"),
    *("has_password", "last_login_at"),
)


@command("users create", "agentpost users create --email ada@example.com --role owner")
def users_create(
    email: Annotated[str, typer.Option(help="E-mail address to sign in with.")],
    role: RoleName = Role.MEMBER,
    account: Annotated[
        str | None,
        typer.Option(help="Account id or e-mail address; optional with one account."),
    ] = None,
) -> Result:
    """Create a user and print a link to choose a password, valid once, for three days."""
    from agentpost.accounts import rows as account_rows
    from agentpost.sessions import password_links
    from agentpost.users import actions as users

    async def create(ctx: AppContext) -> PasswordLink:
        where = account or (await ctx.db.read(account_rows.only)).id
        user = await users.create(ctx, where, email, role)
        return await password_links.make(ctx, user.id)

    return _link(change(create, email, {"role": role}))


@command("users list", "agentpost users list")
def users_list() -> Result:
    """List the users of every account and open invitations."""
    from agentpost.users import actions as users

    rows = [_user(user) for user in with_context(users.all_)]
    return listing(rows, _COLUMNS)


@command("users role", "agentpost users role ada@example.com member")
def users_role(
    user: User,
    role: Annotated[Role, typer.Argument(help="operator, owner or member.")],
) -> Result:
    """Change the role of a user, who has to sign in again."""
    from agentpost.users import actions as users

    user_record = change(lambda ctx: users.set_role(ctx, user, role), user, {"role": role})
    shape = {**_user(user_record), "role": role.value}
    return Result(shape, f"{user_record.address} is {role.value} now")


@command("users password-link", "agentpost users password-link ada@example.com")
def users_password_link(user: User) -> Result:
    """Print a link to choose a new password or accept an invitation, valid once, for three days."""
    from agentpost.sessions import password_links

    return _link(change(lambda ctx: password_links.make(ctx, user), user))


@command("users remove", "agentpost users remove ada@example.com")
def users_remove(user: User) -> Result:
    """Remove a user, who is signed out at once. Their work stays in the account."""
    from agentpost.users import actions as users

    user_record = change(lambda ctx: users.remove(ctx, user), user)
    return Result({"id": user_record.id, "removed": True}, f"{user_record.address} is removed")


# --- parts ----------------------------------------------------------------------------------------
def _user(user: UserRecord) -> dict[str, Any]:
    has_password = user.password is not None
    return fields(user, _FIELDS, accepted=not user.is_invitation, has_password=has_password)


def _link(link: PasswordLink) -> Result:
    from agentpost.domain.times import iso

    shape = {**_user(link.user), "url": link.url, "expires_at": iso(link.expires_at)}
    return Result(shape, link.url)
