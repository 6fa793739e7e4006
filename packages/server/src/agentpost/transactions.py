"""Use cases that are one transaction: written as a plain function, called as a coroutine."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from agentpost.context import AppContext
from agentpost.db.session import Tx

P = ParamSpec("P")
T = TypeVar("T")
_Function = Callable[Concatenate[Tx, AppContext, P], T]
_UseCase = Callable[Concatenate[AppContext, P], Coroutine[Any, Any, T]]


def write_transaction(function: _Function[P, T]) -> _UseCase[P, T]:
    """Run ``function(tx, ctx, …)`` in a write transaction; callers ``await function(ctx, …)``. The
    function may run again, so it has no effect but its SQL (`Database.write`)."""

    @wraps(function)
    def use_case(ctx: AppContext, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return ctx.db.write(lambda tx: function(tx, ctx, *args, **kwargs))

    return use_case


def read_transaction(function: _Function[P, T]) -> _UseCase[P, T]:
    """`write_transaction` on a consistent snapshot; the function must not write."""

    @wraps(function)
    def use_case(ctx: AppContext, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return ctx.db.read(lambda tx: function(tx, ctx, *args, **kwargs))

    return use_case
