"""What people may do in the web app: a role has rights, each page asks for one.

The account is always the person's own; only `Right.OPERATE` reaches others. docs/signing-in.md has
the table for people.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What somebody is in their account, the one with the most rights first."""

    OPERATOR = "operator"
    OWNER = "owner"
    MEMBER = "member"


class Right(StrEnum):
    """What a page asks for."""

    READ = "read"
    """Look at what the account has: chats, messages, requests, webhooks, names of keys, credits."""
    WORK = "work"
    """Write to the agent, send files, answer, stop what runs."""
    DELETE = "delete"
    """Delete chats with their files."""
    KEYS = "keys"
    """Make and revoke API keys."""
    WEBHOOKS = "webhooks"
    """Make, change, test and remove endpoints; see their secrets; send events again."""
    SCHEDULES = "schedules"
    """Make, pause and delete schedules, which send messages of a key."""
    USERS = "users"
    """See and change who belongs to the account."""
    SELF = "self"
    """One's own password and sessions."""
    OPERATE = "operate"
    """The server and every account."""


_MEMBER: Final = frozenset({Right.READ, Right.WORK, Right.SELF})
_OWNER: Final = _MEMBER | {Right.DELETE, Right.KEYS, Right.WEBHOOKS, Right.SCHEDULES, Right.USERS}
RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    Role.MEMBER: _MEMBER,
    Role.OWNER: _OWNER,
    Role.OPERATOR: _OWNER | {Right.OPERATE},
}
"""The one table of who may do what."""

_ORDER: Final = tuple(Role)


def may(role: Role, right: Right) -> bool:
    """Whether the role has the right."""
    return right in RIGHTS[role]


def may_manage(role: Role, other: Role) -> bool:
    """Whether somebody with ``role`` may invite, change or remove somebody with ``other``: nobody
    reaches above themselves."""
    return may(role, Right.USERS) and _ORDER.index(role) <= _ORDER.index(other)


def roles_below(role: Role) -> tuple[Role, ...]:
    """The roles that somebody may give to others."""
    return tuple(other for other in Role if may_manage(role, other))
