"""Checks that look at one answer for each of their requests."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentpost_verify.answers import expect, expect_fields, expect_problem
from agentpost_verify.probe import Probe
from agentpost_verify.shapes import Kind

Check = Callable[..., None]


def one_answer(
    rule: str, outcome: str, *requests: Any, shape: Kind | None = None, **options: Any
) -> Check:
    """A check: each request is answered with the outcome, and with a resource of that shape.

    A request is its method and path, or a tuple: those, its body and the field that the answer must
    name as the problem. ``{nonce}`` in a path is the probe's, ``{name}`` the sample of that name.
    ``options`` are those of `Caller.call`.
    """
    tuples = [each if isinstance(each, tuple) else (each,) for each in requests]
    samples = {name for each in tuples for name in re.findall(r"{(\w+)", each[0])} - {"nonce"}

    @pytest.mark.usefixtures("probe", *samples)
    @pytest.mark.parametrize("each", tuples)
    def check(probe: Probe, request: pytest.FixtureRequest, each: tuple[Any, ...]) -> None:
        route, body, field = (*each, None, None)[:3]
        values = {name: request.getfixturevalue(name) for name in samples}
        method, path = route.format(nonce=probe.nonce, **values).split(" ")
        exchange = probe.call(method, path, body=body, **options)
        answer = expect(exchange, outcome)
        if shape is not None:
            expect_fields(exchange, shape, answer)
        if field is not None:
            expect_problem(exchange, field)

    check.__doc__ = rule
    marked: Check = check
    return marked
