"""Signing in at an identity provider: there and back."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agentpost.context import AppContext
from agentpost.domain.errors import not_found
from agentpost.sessions import oidc, password_pages
from agentpost.sessions import sign_in as signing_in
from agentpost.sessions.oidc import Journey, OidcError
from agentpost.web import sign_in
from agentpost.web.cookies import Cookie, JourneyCookie
from agentpost.web.forms import Form
from agentpost.web.page import OpenPage, View

PATH: Final = "/oidc/callback"


async def leave(ctx: AppContext, request: Request) -> View:
    """To the provider. What has to fit when somebody returns stays in this browser."""
    _require(ctx)
    next_path = sign_in.own_path(request.query_params.get("next", ""))
    try:
        journey, url = await oidc.begin(ctx, _callback(ctx), next_path)
    except OidcError as problem:
        return await _failure_view(ctx, request, problem)
    response = Response(status_code=303, headers={"Location": url})
    JourneyCookie(ctx.settings).set(response, json.dumps(journey.as_dict()))
    return response


async def arrive(ctx: AppContext, request: Request) -> View:
    """Back with a code: this browser has a new session, invitations to accept, or is told why
    not."""
    _require(ctx)
    cookie = JourneyCookie(ctx.settings)
    visitor = sign_in.visitor(ctx, request)
    try:
        journey = Journey.of(cookie.read(request) or "")
        arrival = await oidc.finish(ctx, _callback(ctx), journey, request.query_params, visitor)
    except OidcError as problem:
        await signing_in.record_failure(ctx, "", visitor, "single sign-on")
        return await _failure_view(ctx, request, problem)
    if not isinstance(arrival, str):
        return password_pages.invitations(arrival, Form())
    place = urlsplit(ctx.settings.public_app_url).path.rstrip("/")
    location = place + sign_in.own_path(journey.wanted)
    response = Response(status_code=303, headers={"Location": location})
    cookie.set(response, "")
    Cookie(ctx.settings).set(response, arrival)
    return response


def _require(ctx: AppContext) -> None:
    if not ctx.settings.oidc_issuer:
        raise not_found("page")


def _callback(ctx: AppContext) -> str:
    return f"{ctx.settings.public_app_url}{PATH}"


async def _failure_view(ctx: AppContext, request: Request, problem: OidcError) -> View:
    await oidc.remember(ctx, problem)
    form = Form()
    form.wrong("form", str(problem))
    return sign_in.page(request, ctx.settings, "", form, status=403)


PAGES = (
    OpenPage("/oidc", get=leave),
    OpenPage(PATH, get=arrive),
)
