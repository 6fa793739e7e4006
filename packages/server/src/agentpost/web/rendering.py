"""Responses for browsers: pages and their live parts, redirects and error pages."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode, Overloaded, RateLimited, Refusal
from agentpost.http.application import MethodNotAllowed
from agentpost.http.request_state import state_of
from agentpost.settings import Settings
from agentpost.users.role_rules import Role, may
from agentpost.web import cookies, environment, sign_in
from agentpost.web.assets import accepts_gzip
from agentpost.web.page import SECTIONS, Nav, Page, PageView, Viewer

if TYPE_CHECKING:
    from jinja2 import Environment

_ZIPPED_BYTES_MIN = 1_024
_TITLES = {402: "No credits", 403: "Not allowed", 413: "Too large", 429: "Too many requests"}
"""What a refused form is headed with, by status."""
LIVE = "live"
"""The block of a template that is sent again, and the query parameter that asks for it."""
NOTE = "note"


class Renderer:
    """Makes the responses.

    Args:
        settings: of the app's public URL, and of how people sign in.
        pages: those with an entry in the navigation appear there.
        in_maintenance: whether the API is switched off, which every page says.
    """

    def __init__(
        self,
        settings: Settings,
        pages: Sequence[Page] = (),
        in_maintenance: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings = settings
        self._in_maintenance = in_maintenance
        self.base = urlsplit(settings.public_app_url).path.rstrip("/")
        self._navs = {
            role: _sections([page for page in pages if may(role, page.right_for("GET"))])
            for role in Role
        }
        self._nav = _sections(pages)

    def signed_in_page(
        self, request: Request, view: PageView, page: Page, viewer: Viewer
    ) -> Response:
        """A page for somebody who is signed in."""
        model = dict(view.model)
        # The answer to a form of the page may be another template, such as one that shows a secret.
        if page.live and LIVE in self._environment.get_template(view.template).blocks:
            fragment, tag = self.fragment(view, viewer)
            model[LIVE] = fragment
            if view.live is not None:
                url = _live_url(request, tag, view.live)
                model[LIVE] = self._environment.globals["ui"].live(url, fragment)  # type: ignore[attr-defined]
        note = page.notes.get(request.query_params.get(NOTE, ""))
        here = _current(request.url.path, self._nav)
        return self._respond(request, view, model, viewer=viewer, note=note, here=here)

    def open(self, request: Request, view: PageView) -> Response:
        """A page for everybody."""
        return self._respond(request, view, view.model)

    def fragment(self, view: PageView, viewer: Viewer) -> tuple[str, str]:
        """The live part of a page as markup, and a tag that is another one for other markup."""
        from markupsafe import Markup

        template = self._environment.get_template(view.template)
        block = template.blocks[LIVE](template.new_context({**view.model, "viewer": viewer}))
        content = "".join(block)
        return Markup(content), hashlib.sha256(content.encode()).hexdigest()[:16]  # noqa: S704  escaped by the template

    def redirect(self, path: str, note: str | None = None) -> Response:
        """Redirect to another page with GET."""
        query = f"?{urlencode({NOTE: note})}" if note else ""
        return RedirectResponse(self.base + path + query, 303)

    def notice(self, request: Request, title: str, text: str, status: int) -> Response:
        """A page with one sentence, and the way to the dashboard."""
        model = {"heading": title, "text": text, "sign_in": False}
        return self.open(request, PageView("layout/notice.html", title, model, status))

    def forbidden(self, request: Request, viewer: Viewer) -> Response:
        """The page for somebody whose role does not include what was asked for."""
        role = viewer.user.role
        article = "a" if role == Role.MEMBER else "an"
        text = f"You are {article} {role} of this account. Only owners can do this."
        model = {"heading": "Not allowed", "text": text}
        view = PageView("layout/refused.html", "Not allowed", model, 403)
        return self._respond(request, view, model, viewer=viewer)

    def error(self, request: Request, refusal: Refusal) -> Response:
        """The page for a request that was refused or failed."""
        status = CATALOGUE[refusal.code].status
        title, text = _TITLES.get(status, "Not supported"), refusal.message
        match refusal.code:
            case ErrorCode.UNAUTHORIZED:
                next_path = _address(request) if request.method == "GET" else ""
                view = sign_in.page(request, self._settings, next_path, status=status)
                return self.open(request, view)
            case ErrorCode.RATE_LIMITED:
                title = "Try again later"
            case ErrorCode.NOT_FOUND:  # foreign, unknown and deleted look the same
                title, text = "Not found", "This page does not exist, or you have no access to it."
            case ErrorCode.METHOD_NOT_ALLOWED:
                title, text = "Not supported", f"{request.method} is not supported here."
            case ErrorCode.INTERNAL | ErrorCode.UNAVAILABLE:
                title, text = "Error", "Something went wrong on our side."
                if isinstance(refusal, Overloaded):
                    again = f"Try again in {refusal.retry_after_seconds} s."
                    title, text = "Busy", f"{refusal.message} {again}"
                text = f"{text} Request ID: {state_of(request.scope).id}."
        response = self.notice(request, title, text, status)
        if isinstance(refusal, MethodNotAllowed):
            response.headers["Allow"] = refusal.allowed
        if isinstance(refusal, Overloaded | RateLimited):
            response.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return response

    @property
    def _environment(self) -> Environment:
        return environment.make(self.base)  # kept there; made when the first page is asked for

    def _respond(
        self,
        request: Request,
        view: PageView,
        model: Mapping[str, Any],
        *,
        viewer: Viewer | None = None,
        note: str | None = None,
        here: str = "",
    ) -> Response:
        content = (
            self._environment.get_template(view.template)
            .render(
                **model,
                title=view.title,
                viewer=viewer,
                nav=self._navs[viewer.user.role] if viewer else [],
                here=here,
                note=note,
                maintenance=self._in_maintenance(),
                theme=cookies.theme(request),
            )
            .encode()
        )
        # The answer to a form may show a secret next to what the form said: compressed, its length
        # would tell something of the secret.
        may_zip = request.method != "POST" and len(content) >= _ZIPPED_BYTES_MIN
        if may_zip and accepts_gzip(request):
            content = gzip.compress(content, 6, mtime=0)
            headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return Response(content, view.status, headers, media_type="text/html")
        return Response(content, view.status, media_type="text/html")


Sections = list[tuple[str, list[tuple[str, Nav]]]]


def _sections(pages: Sequence[Page]) -> Sections:
    """The entries of each section, with their paths; a section without any is left out."""
    entries = [(page.path, page.nav) for page in pages if page.nav is not None]
    sections = [(name, [each for each in entries if each[1].section == name]) for name in SECTIONS]
    return [(name, section_entries) for name, section_entries in sections if section_entries]


def _current(path: str, sections: Sections) -> str:
    """The path of the entry that a page belongs to: the longest that begins like its own."""
    paths = [entry for _, entries in sections for entry, _ in entries]
    parents = [each for each in paths if f"{path}/".startswith(f"{each}/")]
    return max(parents, key=len, default="")


def _address(request: Request) -> str:
    """The page's own address with its query, of the app."""
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


def _live_url(request: Request, tag: str, extra_query: Mapping[str, str]) -> str:
    """Where the page's live part comes from: its own address with what it asks besides."""
    own_query = [
        (name, value) for name, value in request.query_params.multi_items() if name != NOTE
    ]
    return f"{request.url.path}?{urlencode([*own_query, *extra_query.items(), (LIVE, tag)])}"
