"""Stored records of people who sign in to the web app (see `domain.records`)."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.domain.records import Time
from agentpost.domain.roles import Role


@dataclass(slots=True)
class SessionRecord:
    """A browser that is signed in; only the SHA-256 of its secret is stored."""

    digest: str
    account_id: str
    created_at: Time
    expires_at: Time
    last_used_at: Time
    browser: str | None = None
    user_id: str | None = None  # None: made by an earlier version, for the account's own user
    address: str | None = None  # the client's, when it was used last


@dataclass(slots=True)
class LoginTokenRecord:
    """A link that works once; only the SHA-256 of its secret is stored."""

    digest: str
    account_id: str
    expires_at: Time
    user_id: str | None = None  # as in `SessionRecord`
    purpose: str | None = None  # `services.login_tokens`; None: to sign in


@dataclass(slots=True)
class UserRecord:
    """A person who may sign in to the web app. ``email`` is in lower case; one with a space in it,
    address and account's id, is an invitation of somebody who is of another account.

    ``password``: the Argon2 hash, None before one is set. ``oidc_subject``: issuer and subject at
    the identity provider, None before the first sign-in there.
    """

    id: str
    account_id: str
    email: str
    role: Role
    created_at: Time
    password: str | None = None
    oidc_subject: str | None = None
    last_login_at: Time | None = None

    @property
    def address(self) -> str:
        """The e-mail address alone; a user whose ``email`` is more cannot sign in."""
        return self.email.partition(" ")[0]


@dataclass(slots=True)
class UserMailRecord:
    """A mail with a link for a user, which is made when the mail is sent; so no secret is kept, and
    asking for one is the same work whether there is such a user or not."""

    id: str
    email: str
    purpose: str  # `services.login_tokens`
    created_at: Time
    next_attempt_at: Time
    attempts: int = 0
