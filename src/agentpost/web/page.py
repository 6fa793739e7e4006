"""What a page is: its paths, its handlers and its place in the navigation.

A page is one file in `web/pages/` with its template beside it, and one line in `web/routes.py`. Its
handlers are called with (ctx, request, viewer) and return a view; `web/rendering.py` makes the
response of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agentpost.services.context import AppContext


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a page: an account, by a session.

    Attributes:
        session: the session's secret; for the services that list or end sessions.
    """

    account_id: str
    name: str
    email: str
    is_operator: bool
    session: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """A page to be shown.

    Args:
        template: its path below `web/`, such as ``pages/sessions.html``.
        title: in the title bar; text, not markup.
        model: what the template reads. A name that is missing there is an error.
        status: of the response; 422 for a form that has errors.
    """

    template: str
    title: str
    model: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """Show another page, after a form.

    Args:
        path: of the app, without the path of its public URL.
        note: a name from the target page's ``notes``, whose text it shows once.
        session: the secret of a session this browser gets; "" ends the one it has.
    """

    path: str
    note: str | None = None
    session: str | None = None


View = Shown | Redirect | Response
Handler = Callable[[AppContext, Request, Viewer], Awaitable[View]]
OpenHandler = Callable[[AppContext, Request], Awaitable[View]]

SECTIONS: Final = ("Chat", "Dashboard", "Account", "Server")
"""The groups of the navigation, in order."""


@dataclass(frozen=True, slots=True)
class Nav:
    """A page's entry in the navigation; ``icon`` is a name of `layout/icons.svg`.

    The entries of a section stand in the order of the pages in `web/routes.py`.
    """

    section: str
    label: str
    icon: str

    def __post_init__(self) -> None:
        assert self.section in SECTIONS, f"{self.section} is no section of the navigation"


@dataclass(frozen=True, slots=True)
class Page:
    """A path for people who are signed in.

    Args:
        path: may have parameters: ``{name}``, or ``{name:path}`` for one with slashes.
        get: shows it.
        post: takes its form; called only for forms of our own pages.
        nav: its entry in the navigation.
        live: the template has a block ``live``, which the page puts somewhere with ``{{ live }}``.
            It is sent again when something of the account has changed.
        operator: only operators see it, also in the navigation; for everybody else there is no such
            page.
        notes: texts shown once after a redirect, by name.
    """

    path: str
    get: Handler | None = None
    post: Handler | None = None
    nav: Nav | None = None
    live: bool = False
    operator: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A path for everybody; see `Page`."""

    path: str
    get: OpenHandler | None = None
    post: OpenHandler | None = None
