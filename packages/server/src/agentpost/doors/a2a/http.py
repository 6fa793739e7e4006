"""`/a2a`, and the agent card."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from a2a.compat.v0_3.conversions import to_compat_agent_card
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from agentpost.api.operation import Api, watch_hang_up
from agentpost.caller import Caller
from agentpost.doors import rpc
from agentpost.doors.a2a import parts
from agentpost.doors.a2a.handler import TaskHandler
from agentpost.http.headers import header
from agentpost.http.published import PublishedDocument
from agentpost.http.request_state import state_of
from agentpost.version import __version__

PATH: Final = "/a2a"
_VERSION: Final = b"a2a-version"
_SCHEME: Final = "key"

# They log each call that a client got wrong, with what it sent.
logging.getLogger("a2a").setLevel(logging.CRITICAL)


def card(public_url: str, agent_name: str) -> a2a_pb2.AgentCard:
    """The card of the agent at that address."""
    url = f"{public_url}{PATH}"
    bearer = a2a_pb2.HTTPAuthSecurityScheme(
        scheme="bearer", description="An API key of this server."
    )
    any_file = ["text/plain", "application/octet-stream", "*/*"]
    return a2a_pb2.AgentCard(
        name=agent_name or "agentpost",
        description="Takes work in plain language, with files, and carries it out durably: it may"
        " take seconds or days, it can ask, and its results are texts and files.",
        version=__version__,
        documentation_url=f"{public_url}/docs/errors",
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=a2a_pb2.AgentCapabilities(
            streaming=True, push_notifications=False, extended_agent_card=False
        ),
        security_schemes={_SCHEME: a2a_pb2.SecurityScheme(http_auth_security_scheme=bearer)},
        security_requirements=[
            a2a_pb2.SecurityRequirement(schemes={_SCHEME: a2a_pb2.StringList()})
        ],
        default_input_modes=any_file,
        default_output_modes=any_file,
        skills=[
            a2a_pb2.AgentSkill(
                id="work",
                name="Work",
                description="Whatever the agent can do: send what you want in plain language.",
                tags=["work", "files"],
                examples=["Chart revenue by month from the attached CSV."],
            )
        ],
    )


class _ReadRequest(Request):
    """A request whose JSON has been read."""

    def __init__(self, scope: Scope, call: dict[str, Any]) -> None:
        super().__init__(scope)
        self._call = call

    async def json(self) -> dict[str, Any]:
        return self._call


async def post(api: Api, request: Request, caller: Caller) -> Response:
    """Both versions of the protocol that are in use are understood."""
    call = await rpc.read(api, request, caller, parts.FILES_AT)
    parts.check_counts(call.fields)
    scope = request.scope
    hung_up = partial(watch_hang_up, request)
    handler = TaskHandler(api.ctx, caller, state_of(scope), call, hung_up)
    dispatcher = JsonRpcDispatcher(handler, enable_v0_3_compat=True)
    if str(call.fields.get("method")) in dispatcher.METHOD_TO_MODEL and not header(
        request, _VERSION
    ):
        # The SDK takes a call without a version for one of 0.3, which has other methods.
        scope = {**scope, "headers": [(_VERSION, b"1.0"), *scope["headers"]]}
    return await dispatcher.handle_requests(_ReadRequest(scope, call.fields))


async def get_card(api: Api, request: Request) -> Response:
    """The card has the form of the version that is asked for. Clients of both versions ask for
    none, so without one it has the members of both."""
    version = (header(request, _VERSION) or "").partition(".")[0]
    form = {"1": MessageToDict, "0": _old_form}.get(version, agent_card_to_dict)
    return await _document(api.ctx.settings.public_url, api.ctx.agent_name, form)(request)


@cache
def _document(
    public_url: str, agent_name: str, form: Callable[[a2a_pb2.AgentCard], dict[str, Any]]
) -> PublishedDocument:
    def make() -> bytes:
        return json.dumps(form(card(public_url, agent_name)), ensure_ascii=False).encode()

    return PublishedDocument(make, "application/json", vary="A2A-Version")


def _old_form(card_: a2a_pb2.AgentCard) -> dict[str, Any]:
    fields: dict[str, Any] = to_compat_agent_card(card_).model_dump(mode="json", exclude_none=True)
    return fields
