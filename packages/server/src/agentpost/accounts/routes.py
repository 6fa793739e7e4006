"""The account (spec: getAccount)."""

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import actions as accounts
from agentpost.accounts.scope_rules import Scope
from agentpost.accounts.shapes import AccountShape, AgentShape, KeyShape, LimitsShape
from agentpost.api.operation import Api, Operation, respond
from agentpost.caller import Caller
from agentpost.domain.credits import to_credits


@Operation(
    id="getAccount",
    route="GET /v1/me",
    scope=None,
    summary="Read the account of this key",
    answer=AccountShape,
)
async def get(api: Api, request: Request, caller: Caller) -> Response:
    """The account of the key, the credits it can still spend and its limits."""
    account = await accounts.get(api.ctx, caller.account_id)
    shape = AccountShape.with_fields_of(
        account,
        user_id=account.id,
        credits=to_credits(account.wallet.available),
        agent=AgentShape(name=api.ctx.agent_name),
        key=KeyShape(
            id=caller.key_id,
            name=caller.key_name,
            scopes=[scope for scope in Scope if scope in caller.scopes],
            max_credits_per_day=None
            if caller.max_credits_per_day is None
            else to_credits(caller.max_credits_per_day),
        ),
        limits=LimitsShape.with_fields_of(caller.rules.allowances),
    )
    return respond(shape)


OPERATIONS = (get,)
