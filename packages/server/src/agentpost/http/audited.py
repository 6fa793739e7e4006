"""Requests that administer stand in the audit log; handlers state to what and what says more.

A door calls `audit` around the handler, for commands of the web app and of the API alike. The
handler calls `state` before it does the thing, with what the command of that name would record.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from agentpost.audit import actions as operator_log
from agentpost.audit.actions import Action, Actor
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.http.client_address import client_address
from agentpost.http.request_state import state_of

T = TypeVar("T")


async def audit(
    ctx: AppContext,
    request: Request,
    actor: Actor,
    action: Action,
    do: Callable[[], Awaitable[T]],
    is_done: Callable[[T], bool],
) -> T:
    """What ``do`` returns, which decides by ``is_done`` whether the action failed; raises what it
    raises."""
    state_of(request.scope).action = action
    return await operator_log.record_call(ctx, actor, action, do, is_done)


async def audited_call(
    ctx: AppContext,
    request: Request,
    caller: Caller,
    name: str,
    do: Callable[[], Awaitable[Response]],
) -> Response:
    """`audit` for a call with a key, which is the actor."""
    detail = {"account_id": caller.account_id, "key": caller.key_name}
    actor = Actor(caller.key_id, "api", client_address(request, ctx.settings))
    action = Action(name, _in_path(request), detail)
    return await audit(ctx, request, actor, action, do, lambda _: True)


def web_action(request: Request, name: str, account_id: str) -> Action:
    """The action of a page's form, before its handler states more."""
    return Action(name, _in_path(request), {"account_id": account_id})


def state(request: Request, target: str = "", /, **detail: object) -> None:
    """State what is about to be done: to ``target``, unless the path names it, and details, never
    a secret. Of a receiver's address that is the host (`requests.redaction.shown_url`)."""
    action = state_of(request.scope).action
    if action is not None:
        action.target = target or action.target
        action.detail |= detail


def _in_path(request: Request) -> str:
    return str(next(iter(request.path_params.values()), ""))
