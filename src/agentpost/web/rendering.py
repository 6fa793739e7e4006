"""Responses for browsers: pages and their live parts, redirects and error pages."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode, Overloaded, Refusal
from agentpost.http.application import MethodNotAllowed
from agentpost.http.request_state import state_of
from agentpost.services.sessions import LOGIN_LINK_SECONDS
from agentpost.web import cookies, environment
from agentpost.web.assets import accepts_gzip
from agentpost.web.page import SECTIONS, Nav, Page, Shown, Viewer

if TYPE_CHECKING:
    from jinja2 import Environment

_ZIPPED_BYTES_MIN = 1_024
LIVE = "live"
"""The block of a template that is sent again, and the query parameter that asks for it."""
NOTE = "note"


class Renderer:
    """Makes the responses.

    Args:
        app_url: the app's public URL.
        pages: those with an entry in the navigation appear there.
    """

    def __init__(self, app_url: str, pages: Sequence[Page] = ()) -> None:
        self.base = urlsplit(app_url).path.rstrip("/")
        self._made: Environment | None = None
        self._nav = _sections([each for each in pages if not each.operator])
        self._operator_nav = _sections(pages)

    def shown(self, request: Request, shown: Shown, page: Page, viewer: Viewer) -> Response:
        """A page for somebody who is signed in."""
        model = dict(shown.model)
        if page.live:
            fragment, tag = self.fragment(shown)
            model[LIVE] = self._environment.globals["ui"].live(_live_url(request, tag), fragment)  # type: ignore[attr-defined]
        note = page.notes.get(request.query_params.get(NOTE, ""))
        here = _current(request.url.path, self._operator_nav)
        return self._respond(request, shown, model, viewer=viewer, note=note, here=here)

    def open(self, request: Request, shown: Shown) -> Response:
        """A page for everybody."""
        return self._respond(request, shown, shown.model)

    def fragment(self, shown: Shown) -> tuple[str, str]:
        """The live part of a page as markup, and a tag that is another one for other markup."""
        from markupsafe import Markup

        template = self._environment.get_template(shown.template)
        block = template.blocks[LIVE](template.new_context(dict(shown.model)))
        made = "".join(block)
        return Markup(made), hashlib.sha256(made.encode()).hexdigest()[:16]  # noqa: S704  escaped by the template

    def redirect(self, path: str, note: str | None = None) -> Response:
        """Redirect to another page with GET."""
        query = f"?{urlencode({NOTE: note})}" if note else ""
        return RedirectResponse(self.base + path + query, 303)

    def notice(self, request: Request, title: str, text: str, status: int) -> Response:
        """A page with one sentence, and the way to the dashboard."""
        model = {"heading": title, "text": text, "sign_in": False}
        return self.open(request, Shown("layout/notice.html", title, model, status))

    def sign_in(self, request: Request, title: str, text: str, status: int) -> Response:
        """A page with one sentence, and how to sign in."""
        model = {
            "heading": title,
            "text": text,
            "sign_in": True,
            "minutes": LOGIN_LINK_SECONDS // 60,
        }
        return self.open(request, Shown("layout/notice.html", title, model, status))

    def error(self, request: Request, refusal: Refusal) -> Response:
        """The page for a request that was refused or failed."""
        status = CATALOGUE[refusal.code].status
        match refusal.code:
            case ErrorCode.UNAUTHORIZED:
                text = "This page is for people who are signed in."
                return self.sign_in(request, "Sign in first", text, status)
            case ErrorCode.NOT_FOUND:  # foreign, unknown and deleted look the same
                text = "There is nothing at this address, or nothing this account may see."
                return self.notice(request, "Not found", text, status)
            case ErrorCode.METHOD_NOT_ALLOWED:
                text = f"This address does not take {request.method}."
                response = self.notice(request, "Not possible", text, status)
            case ErrorCode.INTERNAL | ErrorCode.UNAVAILABLE:
                more = f"The log has more under {state_of(request.scope).id}."
                text = f"Something went wrong on our side. {more}"
                response = self.notice(request, "Error", text, status)
            case _:
                return self.notice(request, "Not possible", refusal.message, status)
        if isinstance(refusal, MethodNotAllowed):
            response.headers["Allow"] = refusal.allowed
        if isinstance(refusal, Overloaded):
            response.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return response

    @property
    def _environment(self) -> Environment:
        if self._made is None:
            self._made = environment.make(self.base)
        return self._made

    def _respond(
        self,
        request: Request,
        shown: Shown,
        model: Mapping[str, Any],
        *,
        viewer: Viewer | None = None,
        note: str | None = None,
        here: str = "",
    ) -> Response:
        content = (
            self._environment.get_template(shown.template)
            .render(
                **model,
                title=shown.title,
                viewer=viewer,
                nav=self._operator_nav if viewer and viewer.is_operator else self._nav,
                here=here,
                note=note,
                theme=cookies.theme(request),
            )
            .encode()
        )
        # The answer to a form may show a secret next to what the form said: compressed, its length
        # would tell something of the secret.
        zipped = request.method != "POST" and len(content) >= _ZIPPED_BYTES_MIN
        if zipped and accepts_gzip(request):
            content = gzip.compress(content, 6, mtime=0)
            headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return Response(content, shown.status, headers, media_type="text/html")
        return Response(content, shown.status, media_type="text/html")


Sections = list[tuple[str, list[tuple[str, Nav]]]]


def _sections(pages: Sequence[Page]) -> Sections:
    """The entries of each section, with their paths; a section without any is left out."""
    entries = [(page.path, page.nav) for page in pages if page.nav is not None]
    grouped = [(name, [each for each in entries if each[1].section == name]) for name in SECTIONS]
    return [(name, found) for name, found in grouped if found]


def _current(path: str, sections: Sections) -> str:
    """The path of the entry that a page belongs to: the longest that begins like its own."""
    known = [entry for _, entries in sections for entry, _ in entries]
    found = [each for each in known if f"{path}/".startswith(f"{each}/")]
    return max(found, key=len, default="")


def _live_url(request: Request, tag: str) -> str:
    """Where the page's live part comes from: its own address, whatever its query."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != NOTE]
    return f"{request.url.path}?{urlencode([*kept, (LIVE, tag)])}"
