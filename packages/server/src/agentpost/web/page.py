"""What a page is: its paths, its handlers and its place in the navigation.

A page is a file `pages.py` or `*_pages.py` in the room of its subject, with its template beside it,
and a line in `web/routes.py`. Its handlers are called with (ctx, request, viewer), and with the
parameters of the path by their names; they return a view, of which `web/rendering.py` makes the
response.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.responses import Response

from agentpost.requests.redaction import shown_url
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Right, may


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a page: a user, by a session.

    Attributes:
        account_id: the user's account, whose things they see.
        name: of the account.
        account_email: of the account, by which commands name it.
        email: the user's own.
        session: the session's secret; for the services that list or end sessions.
    """

    account_id: str
    name: str
    account_email: str
    email: str
    user: UserRecord
    session: str = field(repr=False)

    @property
    def is_operator(self) -> bool:
        """Whether they operate the server."""
        return self.may("operate")

    def may(self, right: str) -> bool:
        """Whether they have a right (`users.role_rules.Right`); for templates, to leave out what
        would be refused."""
        return may(self.user.role, Right(right))

    def endpoint_url(self, url: str) -> str:
        """A webhook's address; without its path, which may be a secret, for those who may not
        manage webhooks."""
        return url if self.may("webhooks") else shown_url(url)


@dataclass(frozen=True, slots=True)
class PageView:
    """A page to be shown.

    Args:
        template: its path below `web/`, such as ``sessions/sessions.html``.
        title: in the title bar; text, not markup.
        model: what the template reads. A name that is missing there is an error.
        status: of the response; 422 for a form that has errors.
        live: what the stream of its live part is asked besides the page's own query; None for a
            page that stays as it is, such as a later one of a list.
    """

    template: str
    title: str
    model: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    live: Mapping[str, str] | None = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Redirect:
    """Show another page, after a form.

    Args:
        path: of the app, without the path of its public URL.
        note: a name from the target page's ``notes``, whose text it shows once.
        session: the secret of a session this browser gets; "" takes away the one it has.
    """

    path: str
    note: str | None = None
    session: str | None = None


View = PageView | Redirect | Response
Handler = Callable[..., Awaitable[View]]
"""Of (ctx, request), the viewer where people are signed in, and the parameters of the page's path
by their names."""

_ADMINISTERING: Final = {
    *(Right.KEYS, Right.WEBHOOKS, Right.SCHEDULES, Right.USERS, Right.SELF, Right.OPERATE),
}
"""The forms of pages with one of these rights stand in the audit log."""
SECTIONS: Final = ("Chat", "Dashboard", "Account", "Server")
"""The groups of the navigation, in order."""


@dataclass(frozen=True, slots=True)
class Nav:
    """A page's entry in the navigation; ``icon`` is a name of `layout/icons.svg`. The entries of a
    section stand in the order of the pages in `web/routes.py`."""

    section: str
    label: str
    icon: str

    def __post_init__(self) -> None:
        assert self.section in SECTIONS, f"{self.section} is not a section of the navigation"


@dataclass(frozen=True, slots=True)
class Page:
    """A path for people who are signed in.

    Args:
        path: may have parameters: ``{name}``, or ``{name:path}`` for one with slashes.
        get: shows it.
        post: takes its form; called only for forms of our own pages.
        nav: its entry in the navigation.
        right: what a viewer needs to see it, and to post its form unless ``post_right`` says
            another. Each page says one; without it only owners would get the page. A viewer who
            lacks `Right.OPERATE` meets an address that does not exist.
        live: the template has a block ``live``, which the page puts somewhere with ``{{ live }}``.
            It is sent again when something of the account has changed.
        every: its stream also looks again after so many seconds, for what gives no hint.
        notes: texts shown once after a redirect, by name.
        action: what the audit log calls its form; "": it is not recorded.
    """

    path: str
    get: Handler | None = None
    post: Handler | None = None
    nav: Nav | None = None
    live: bool = False
    every: float | None = None
    right: Right | None = None
    post_right: Right | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    action: str = ""

    def __post_init__(self) -> None:
        administers = self.post is not None and self.right_for("POST") in _ADMINISTERING
        assert self.action or not administers, f"the audit log needs a name for {self.path}"

    def right_for(self, method: str) -> Right:
        """What a request of that method needs."""
        right = self.post_right if method == "POST" else None
        return right or self.right or Right.USERS


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A path for everybody; see `Page`."""

    path: str
    get: Handler | None = None
    post: Handler | None = None
