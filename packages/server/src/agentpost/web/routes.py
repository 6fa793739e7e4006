"""The routes of the pages and what surrounds each request to them (design: Signing in)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlencode

from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from agentpost.accounts import key_pages, pages as account_pages
from agentpost.audit.actions import Actor
from agentpost.chats import chat_pages, pages as chats
from agentpost.context import AppContext
from agentpost.credits import pages as credit_pages
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.text import storable
from agentpost.files import download_pages, preview_pages
from agentpost.http import pipeline
from agentpost.http.application import Route
from agentpost.http.audited import audit, web_action
from agentpost.http.client_address import client_address, untrusted_proxy
from agentpost.http.pipeline import Handler, surround
from agentpost.limits import forwarding
from agentpost.mail import pages as mail_pages
from agentpost.messages import pages as message_pages
from agentpost.operations import pages as operation_pages
from agentpost.requests import pages as request_pages
from agentpost.schedules import pages as schedule_pages
from agentpost.sessions import actions as sessions, devices, pages as session_pages, password_pages
from agentpost.uploads import pages as upload_pages
from agentpost.users import pages as user_pages
from agentpost.users.role_rules import Right, may
from agentpost.web import assets, forms, home_pages, page, policy
from agentpost.web.cookies import device_cookie, session_cookie
from agentpost.web.page import OpenPage, Page, PageView, Redirect, View, Viewer
from agentpost.web.rendering import LIVE, Renderer
from agentpost.web.streams import Streams
from agentpost.webhooks import pages as webhook_pages

PAGES: Sequence[Page | OpenPage] = (
    *home_pages.PAGES,
    *password_pages.PAGES,
    *chats.PAGES,
    *upload_pages.PAGES,
    *preview_pages.PAGES,
    *download_pages.PAGES,
    *chat_pages.PAGES,
    *account_pages.PAGES,
    *message_pages.PAGES,
    *key_pages.PAGES,
    *webhook_pages.PAGES,
    *schedule_pages.PAGES,
    *request_pages.PAGES,
    *credit_pages.PAGES,
    *mail_pages.PAGES,
    *user_pages.PAGES,
    *session_pages.PAGES,
    *operation_pages.PAGES,
)
"""Every page; those with an entry in the navigation stand there in this order."""


_KINDS: Final = {
    "account_id": (ids.ACCOUNT,),
    "chat_id": (ids.CONVERSATION, ids.WORK),
    "key_id": (ids.KEY,),
    "user_id": (ids.USER,),
}
"""How ids in addresses begin."""


class PageRoutes:
    """The routes that show pages."""

    def __init__(self, ctx: AppContext) -> None:
        pages = [each for each in PAGES if isinstance(each, Page)]
        self._ctx = ctx
        self._cookie = session_cookie(ctx.settings)
        self._device = device_cookie(ctx.settings)
        self._renderer = Renderer(ctx.settings, pages, lambda: ctx.unavailable)
        self._streams = Streams(ctx)
        middlewares = (
            partial(pipeline.with_state, ctx.clock),
            partial(pipeline.with_headers, policy.headers(ctx.settings)),
            partial(pipeline.with_errors, self._renderer.error),
        )
        self._unknown = surround(_no_such_page, middlewares)
        self.routes = [Route(each.path, self._handlers(each), middlewares) for each in PAGES]
        self.routes.append(Route(assets.PATH, {"GET": assets.serve}, middlewares))

    def unknown(self, scope: Scope) -> Handler | None:
        """The handler for an address that no route has, None when no browser asks: programs get the
        error shape of the API."""
        if scope["method"] not in ("GET", "HEAD") or f"{scope['path']}/".startswith("/v1/"):
            return None
        accepted = Headers(scope=scope).get("accept", "")
        return self._unknown if "text/html" in accepted else None

    # --- around the handlers ----------------------------------------------------------------------
    def _handlers(self, each: Page | OpenPage) -> Mapping[str, Handler]:
        way_in = self._open if isinstance(each, OpenPage) else partial(self._signed_in, each)
        handlers: dict[str, Handler] = {}
        if each.get is not None:
            handlers["GET"] = partial(way_in, each.get)
        if each.post is not None:
            handlers["POST"] = partial(self._own_form, partial(way_in, each.post))
        return handlers

    async def _open(self, handler: page.Handler, request: Request) -> Response:
        """For everybody."""
        proxy = untrusted_proxy(request, self._ctx.settings)
        if proxy:
            await forwarding.note(self._ctx, proxy)
        view = await handler(self._ctx, request, **_path_of(request))
        if isinstance(view, PageView):
            return self._renderer.open(request, view)
        return self._respond(view)

    async def _signed_in(self, each: Page, handler: page.Handler, request: Request) -> Response:
        """Only with a session; nothing is looked up for anybody else."""
        if b"%00" in request.scope["query_string"]:  # no text has a NUL, and PostgreSQL takes none
            pairs = QueryParams(request.scope["query_string"]).multi_items()
            query = [(storable(name), storable(value)) for name, value in pairs]
            request.scope["query_string"] = urlencode(query).encode()
        secret = self._cookie.read(request)
        address = client_address(request, self._ctx.settings)
        sign_in = await sessions.signed_in(self._ctx, secret, address) if secret else None
        if sign_in is None:
            raise Refusal(ErrorCode.UNAUTHORIZED, "Sign in to continue.")
        account, user = sign_in.account, sign_in.user
        viewer = Viewer(account.id, account.name, account.email, user.email, user, secret)
        right = each.right_for(request.method)
        if not may(viewer.user.role, right):
            if right == Right.OPERATE:
                raise not_found("page")
            return self._renderer.forbidden(request, viewer)
        if each.live and LIVE in request.query_params and request.method != "POST":

            async def render() -> tuple[str, str]:
                view = await handler(self._ctx, request, viewer, **_path_of(request))
                assert isinstance(view, PageView), "a page with a live part shows it"
                return self._renderer.fragment(view, viewer)

            return self._streams.respond(request, viewer, render, each.every)
        view = await self._audit_form(each, handler, request, viewer)
        response = (
            self._renderer.signed_in_page(request, view, each, viewer)
            if isinstance(view, PageView)
            else self._respond(view)
        )
        if devices.user_of(self._ctx, self._device.read(request)) != viewer.user.id:
            self._device.set(response, devices.seal(self._ctx, viewer.user.id))
        return response

    async def _audit_form(
        self, each: Page, handler: page.Handler, request: Request, viewer: Viewer
    ) -> View:
        """What the handler returns; the audit log tells of forms that administer."""
        if not each.action or request.method != "POST":
            return await handler(self._ctx, request, viewer, **_path_of(request))
        return await audit(
            self._ctx,
            request,
            Actor(viewer.email, "web", client_address(request, self._ctx.settings)),
            web_action(request, each.action, viewer.account_id),
            lambda: handler(self._ctx, request, viewer, **_path_of(request)),
            lambda view: not isinstance(view, PageView) or view.status < 400,
        )

    async def _own_form(self, handler: Handler, request: Request) -> Response:
        """Only from our own pages: no other site signs anybody in or out."""
        if not forms.from_own_page(request, self._ctx.settings):
            text = "The form was sent from another site and was rejected."
            return self._renderer.notice(request, "Refused", text, 403)
        return await handler(request)

    def _respond(self, view: View) -> Response:
        if not isinstance(view, Redirect):
            assert isinstance(view, Response)
            return view
        response = self._renderer.redirect(view.path, view.note)
        if view.session is not None:
            self._cookie.set(response, view.session)
        return response


def _path_of(request: Request) -> Mapping[str, str]:
    """The parameters of the path; raises ``not_found`` for what is no id of that kind."""
    for name, value in request.path_params.items():
        if name in _KINDS and not any(ids.is_id(kind, value) for kind in _KINDS[name]):
            raise not_found(name.removesuffix("_id"))
    return request.path_params


async def _no_such_page(_: Request) -> Response:
    raise not_found("page")
