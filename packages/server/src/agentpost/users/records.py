"""Stored records of people who sign in to the web app (see `record.records`)."""

from dataclasses import dataclass
from typing import Final

from agentpost.record.records import Time
from agentpost.users.role_rules import Role

SESSION_ID_CHARACTERS: Final = 32


@dataclass(slots=True)
class SessionRecord:
    """A browser that is signed in; only the SHA-256 of its secret is stored."""

    digest: str
    account_id: str
    created_at: Time
    expires_at: Time
    last_used_at: Time
    user_id: str
    browser: str | None = None
    address: str | None = None  # the client's, when it was used last

    @property
    def id(self) -> str:
        """What people call it by."""
        return self.digest[:SESSION_ID_CHARACTERS]


@dataclass(slots=True)
class LoginTokenRecord:
    """A link that works once; only the SHA-256 of its secret is stored."""

    digest: str
    account_id: str
    expires_at: Time
    user_id: str
    purpose: str | None = None  # `sessions.password_links`; None: to sign in
    oidc_subject: str | None = None  # whom the identity provider proved the holder to be


@dataclass(slots=True)
class UserRecord:
    """A person who may sign in to the web app, or an invitation, which gives nothing before it is
    accepted.

    Attributes:
        email: in lower case. That of an invitation is the address, a space and the account's id:
            several accounts may invite one address.
        password: the Argon2 hash, None before one is set.
        oidc_subject: issuer and subject at the identity provider, None before the first sign-in
            there.
        invited_by: the address of the inviter, or who else made the user. None: the account was
            made with this user.
        invited_email: the address of an invitation, None for a user.
    """

    id: str
    account_id: str
    email: str
    role: Role
    created_at: Time
    password: str | None = None
    oidc_subject: str | None = None
    last_login_at: Time | None = None
    invited_by: str | None = None
    invited_email: str | None = None

    @property
    def address(self) -> str:
        """The e-mail address alone."""
        return self.email.partition(" ")[0]

    @property
    def is_invitation(self) -> bool:
        """Whether it was not accepted yet: nobody can sign in as this user."""
        return " " in self.email


@dataclass(slots=True)
class UserMailRecord:
    """A mail with a link for a user, which is made when the mail is sent; so no secret is kept, and
    asking for one is the same work whether there is such a user or not."""

    id: str
    email: str
    purpose: str  # `sessions.password_links.Purpose`
    created_at: Time
    next_attempt_at: Time
    attempts: int = 0
