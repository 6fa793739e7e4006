"""Where a client goes on in a list: at the ``id`` of something that the list had."""

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db import filtered
from agentpost.domain import ids
from agentpost.domain.errors import InvalidRequest, Problem

NOT_LISTED = "must be the `id` of something that this list has"


async def check(ctx: AppContext, caller: Caller, name: str, one: str) -> None:
    """Raises ``invalid_request``, which names the parameter, for the id of something that another
    account or key has. What is gone since it was listed still is a place."""
    owner = await ctx.db.read(lambda tx: filtered.owner_of(tx, one))
    if owner is None:
        return
    account_id, key_id = owner
    sees_all_keys = ids.is_id(ids.REQUEST, one) and caller.reads_all
    is_of_key = sees_all_keys or key_id is None or key_id == caller.key_id
    if account_id != caller.account_id or not is_of_key:
        raise InvalidRequest(Problem(name, NOT_LISTED))
