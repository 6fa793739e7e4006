"""Which doors a server has, what a missing extra says, and that nothing is loaded before a call."""

import gc
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentpost.api.operation import Api
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.doors.routes import DOORS, DoorRoutes
from agentpost.extras import MODULES
from agentpost.settings import load_settings

EVERY = ["mcp", "a2a", "openai"]
LOADED_LATER = ("a2a", "google.protobuf", "mcp", "agentpost.doors.mcp", "agentpost.doors.a2a")


def paths(doors: list[str]) -> set[str]:
    """The paths of a server with these doors."""
    settings = load_settings(doors=doors)
    ctx = SimpleNamespace(settings=settings, clock=None, requests=None)
    routes = DoorRoutes(cast("Api", SimpleNamespace(ctx=ctx)))
    return {route.path for route in routes.routes}


@pytest.mark.parametrize(
    ("doors", "there", "away"),
    [
        (EVERY, {"/mcp", "/a2a", "/openai/v1/responses"}, set()),
        (["openai"], {"/openai/v1/responses"}, {"/mcp", "/a2a", "/.well-known/agent-card.json"}),
        (["mcp"], {"/mcp"}, {"/openai/v1/responses", "/a2a"}),
    ],
)
def test_a_server_has_the_doors_that_its_settings_name(
    doors: list[str], there: set[str], away: set[str]
) -> None:
    found = paths(doors)
    assert there <= found
    assert not away & found


def test_all_can_be_switched_off() -> None:
    assert paths([]) == set()
    assert sorted(load_settings().doors) == sorted(EVERY) == sorted(DOORS)


@pytest.mark.parametrize("name", ["mcp", "a2a"])
async def test_a_missing_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast("dict[str, Any]", MODULES), name, ("nobody_has_this",))
    with pytest.raises(Refusal, match=rf"pip install 'agentpost\[{name}\]'") as refused:
        await DOORS[name].function("http.post")()
    assert refused.value.code is ErrorCode.NOT_FOUND


async def test_calls_of_what_is_loaded_freeze_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What garbage there is at the first call of another function would stay for good."""
    import_module("agentpost.doors.openai.models")
    frozen: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append("all there is"))
    api = SimpleNamespace(ctx=SimpleNamespace(agent_name=""))
    response = await DOORS["openai"].function("models.list_all")(api, None, None)
    assert response.status_code == 200
    assert frozen == []


def test_nothing_is_loaded_before_a_call() -> None:
    """What a server imports at its start has none of it."""
    look = f"print(*(m for m in {LOADED_LATER} if m in sys.modules))"
    program = f"import sys, agentpost.server; {look}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []
