"""Checks that look at one answer for each of their requests."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentpost_verify.probe import Probe
from agentpost_verify.shapes import Kind


def one_answer(
    rule: str, outcome: str, *requests: Any, shape: Kind | None = None, **options: Any
) -> Callable[..., None]:
    """A check: each request is answered with the outcome, and with a resource of that shape.

    A request is its method and path, or a tuple: those, its body and the field that the answer must
    name as the problem. ``{nonce}`` in a path is the probe's, ``{name}`` the sample of that name.
    ``options`` are those of `Probe.call`.
    """
    rows = [
        (*each, None)[:3] if isinstance(each, tuple) else (each, None, None) for each in requests
    ]
    samples = {name for row in rows for name in re.findall(r"{(\w+)", row[0])} - {"nonce"}

    @pytest.mark.usefixtures("probe", *samples)
    def check(probe: Probe, request: pytest.FixtureRequest) -> None:
        values = {name: request.getfixturevalue(name) for name in samples}
        for route, body, field in rows:
            method, path = route.format(nonce=probe.nonce, **values).split(" ")
            exchange = probe.call(method, path, body=body, **options)
            exchange.expect(outcome, shape=shape, problem=field)

    check.__doc__ = rule
    return check
