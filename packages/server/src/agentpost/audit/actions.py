"""The audit log: who did what to the installation, by command, in the web app or with a key.

An action is recorded before it is done, and its outcome after it. So one that was cut off stands
there as ``begun``, and none is missing; what its handler states comes with the outcome. Secrets are
never part of it: callers name what was done to what, not what came of it.

Of what is refused to a key or a user, and of sign-ins that fail, so many rows are kept in a minute
(`audit.refusals`); the last of them counts the rest.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from agentpost.audit import rows as audit_rows
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.filtered import cut_page
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.record.records import OperatorActionRecord

T = TypeVar("T")
BEGUN: Final = "begun"
DONE: Final = "done"
FAILED: Final = "failed"
PAGE: Final = 50
_CHARACTERS_MAX: Final = 300
_ITEMS_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Actor:
    """Who: a user's address, a key's id, or the system's user of a command; ``via``: ``web``,
    ``api`` or ``command``; ``origin``: the client's address, or the machine's name."""

    who: str
    via: str
    origin: str


@dataclass(slots=True)
class Action:
    """What: the words of the command that does it, its object, and what says more. While it is
    done, ``target`` and ``detail`` may still be stated."""

    name: str
    target: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


async def record_call(
    ctx: AppContext,
    actor: Actor,
    action: Action,
    do: Callable[[], Awaitable[T]],
    is_done: Callable[[T], bool] = lambda _: True,
) -> T:
    """What ``do`` returns; raises what it raises. ``is_done``: whether that is no failure."""
    record = entry(ctx.clock.now(), actor, action, BEGUN)
    await ctx.db.write(lambda tx: add(tx, record))
    outcome, is_refused = FAILED, False
    try:
        result = await do()
        is_refused = not is_done(result)
        outcome = FAILED if is_refused else DONE
        return result
    except Refusal:
        is_refused = True
        raise
    finally:
        final_entry = entry(record.at, actor, action, outcome)
        final_entry.id = record.id
        is_bounded = is_refused and actor.via != "command"
        counting = ctx.refused_actions.count(final_entry, actor.who) if is_bounded else final_entry

        def end(tx: Tx) -> None:
            audit_rows.set_outcome(tx, counting)
            if counting is not final_entry:
                audit_rows.delete(tx, final_entry.id)

        await ctx.db.write(end)


async def record_refused(ctx: AppContext, actor: Actor, action: Action, of: str) -> None:
    """Keep an action that failed before anything was done, or count it; ``of``: with whose."""
    refusal = entry(ctx.clock.now(), actor, action, FAILED)
    counting = ctx.refused_actions.count(refusal, of)
    keep: Callable[[Tx, OperatorActionRecord], object] = (
        add if counting is refusal else audit_rows.set_outcome
    )
    await ctx.db.write(lambda tx: keep(tx, counting))


def entry(now: int, actor: Actor, action: Action, outcome: str) -> OperatorActionRecord:
    """The row of an action at ``now`` (microseconds)."""
    return OperatorActionRecord(
        id=new_id(ids.ACTION, now),
        at=now,
        who=actor.who[:_CHARACTERS_MAX],
        via=actor.via,
        origin=actor.origin[:_CHARACTERS_MAX],
        action=action.name,
        target=_printable(action.target[:_CHARACTERS_MAX]),
        detail_json=json.dumps({k: _cut(v) for k, v in action.detail.items() if v is not None}),
        outcome=outcome,
    )


def _printable(text: str) -> str:
    """Without what no column of text takes: paths and forms may have any character."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text)


def _cut(value: Any) -> Any:
    """Bounded: what is refused afterwards is recorded, too."""
    if isinstance(value, list | tuple):
        return [_cut(each) for each in value[:_ITEMS_MAX]]
    return value[:_CHARACTERS_MAX] if isinstance(value, str) else value


# Keep a row that was made by `entry`.
add = audit_rows.OPERATOR_ACTIONS.insert


async def page(
    ctx: AppContext,
    before: str | None = None,
    *,
    who: str = "",
    action: str = "",
    target: str = "",
    limit: int = PAGE,
) -> tuple[list[OperatorActionRecord], str | None]:
    """Actions before that one, newest first, and where the next page begins. Filters: all of
    ``who`` and ``target``, the beginning of ``action``."""
    bound = before or ids.last(ids.ACTION)
    actions = await ctx.db.read(
        lambda tx: audit_rows.page(tx, bound, who, action, target, limit + 1)
    )
    return cut_page(actions, limit)
