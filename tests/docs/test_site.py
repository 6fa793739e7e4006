"""The site of docs/ is built without network; what is wrong with a page fails the build."""

import ast
import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentpost.settings import Settings
from agentpost_client import Client
from tests import programs
from tests.house.tree import DOCS, document

SITE = DOCS / "site"


@cache
def script(name: str) -> ModuleType:
    sys.path.insert(0, str(SITE))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(SITE))


def test_it_is_built_and_has_everything(tmp_path: Path) -> None:
    """A broken link or anchor, a page without a place in the navigation and an asset of another
    site end the build. One test, because building takes some seconds."""
    site = tmp_path / "site"
    programs.printed(sys.executable, SITE / "build.py", site)
    assert script("build").foreign_assets(site) == []
    assert "conversation" in (site / "search.js").read_text("utf-8")
    pages = "".join(path.read_text("utf-8") for path in (site / "reference").glob("*.html"))
    named = re.findall(r'"operationId": "(\w+)"', document(DOCS / "openapi.json"))
    events = [name for name in named if name.startswith("on")]  # calls of ours, not theirs
    assert [name for name in named if name not in events and f'id="{name}"' not in pages] == []
    page = (site / "settings.html").read_text("utf-8")
    assert [name for name in Settings.model_fields if f"<code>{name}</code></td>" not in page] == []


def test_the_calls_in_python_fit_the_client() -> None:
    """Each is a call that the client's methods take."""
    calls = script("made").python_calls()
    assert {"createMessage", "getMessage", "createWebhookEndpoint"} <= calls.keys()
    with Client("http://127.0.0.1", "svc_key_none") as client:
        for text in calls.values():
            [statement] = ast.parse(text).body
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            method: Any = client
            for name in ast.unparse(statement.value.func).split(".")[1:]:
                method = getattr(method, name)
            named = {each.arg: None for each in statement.value.keywords if each.arg}
            inspect.signature(method).bind(*statement.value.args, **named)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<script src="https://a.example/x.js">', "https://a.example/x.js"),
        ("<script async src=//a.example/x.js>", "//a.example/x.js"),
        ('<link rel="stylesheet" href="https://a.example/x.css">', "https://a.example/x.css"),
        ("<img alt='' src='https://a.example/x.png'>", "https://a.example/x.png"),
        ("<style>a{background:url(https://a.example/x.png)}", "https://a.example/x.png"),
        ('<style>@import "https://a.example/x.css"', "https://a.example/x.css"),
        ('<link rel="canonical" href="https://a.example/">', None),
        ('<a href="https://a.example/">there</a>', None),
        ('<script src="assets/x.js">', None),
    ],
)
def test_what_a_browser_loads_is_found(page: str, found: str | None, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    expected = [f"page.html loads {found}"] if found else []
    assert script("build").foreign_assets(tmp_path) == expected


@pytest.mark.parametrize(
    ("text", "staged"),
    [
        ("[a](errors.md#x)", "[a](errors.md#x)"),
        ("[a](../ARCHITECTURE.md)", "[a](architecture.md)"),
        ("[a](../README.md)", "[a](index.md)"),
        ("[s](../packages/server/src/agentpost/settings.py)", "s"),
        ("[a](https://a.example/)", "[a](https://a.example/)"),
        ("[a](../tests)\n```\n[a](../tests)\n```", "a\n```\n[a](../tests)\n```"),
        ("```\n$ ls\n```", "```console\n$ ls\n```"),
    ],
)
def test_links_are_made_to_hold_on_the_site(text: str, staged: str, tmp_path: Path) -> None:
    staging = script("staging")
    rewritten: Callable[..., str] = staging._rewritten
    assert rewritten(text, DOCS / "api.md", "api.md", staging.pages(), tmp_path) == staged


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    staging = script("staging")
    with pytest.raises(SystemExit, match=r"docs/api\.md: nowhere\.md is not there"):
        staging._rewritten("[a](nowhere.md)", DOCS / "api.md", "api.md", {}, tmp_path)
