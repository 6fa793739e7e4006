"""The programs of `docs/python.md` and `clients/python/README.md`, and the examples in the client's
docstrings, against a real server."""

import ast
import asyncio
import doctest
import inspect
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import agentpost_client
from agentpost_client import AsyncClient, Client, webhooks
from agentpost_client._async import client as async_client
from agentpost_client._sync import client as sync_client
from tests.docs.snippets import programs
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import DOCS, ROOT

PAGE = DOCS / "python.md"
FIRST_PAGE = ROOT / "clients/python/README.md"
PROGRAMS = programs(PAGE)
SALES = "month,revenue\nJan,120\nFeb,135\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    home = tmp_path_factory.mktemp("server")
    with AgentServer(home, agent="examples.csv_agent:agent", pool_workers=2).start() as made:
        yield made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader is: with a file, and with what the pages take for granted."""
    (tmp_path / "sales.csv").write_text(SALES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def connected(server: AgentServer, monkeypatch: pytest.MonkeyPatch) -> AgentServer:
    monkeypatch.setenv("AGENTPOST_URL", server.url)
    monkeypatch.setenv("AGENTPOST_KEY", KEY)
    return server


def run(name: str, found: dict[str, str] = PROGRAMS) -> dict[str, Any]:
    """Run a program of the page; gives what it has defined."""
    Path(name).write_text(found[name], "utf-8")
    return runpy.run_path(name, run_name="__main__")


SHOWN = {
    "first.py": ["completed sales.csv has 2 columns", "columns.csv"],
    "stream.py": ["1 agent_reply\n", "completed msg_"],
    "careful.py": ["not_found 404 True Check the id"],
    "signed.py": ["exe_1 failed"],
}


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("name", SHOWN)
def test_a_program_does_what_the_page_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(name)
    shown = capsys.readouterr().out
    for text in SHOWN[name]:
        assert text in shown, shown


@pytest.mark.usefixtures("connected")
def test_the_first_page(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    for name in programs(FIRST_PAGE):
        run(name, programs(FIRST_PAGE))
    assert "columns.csv" in capsys.readouterr().out
    assert (folder / "columns.csv").exists()


def test_no_program_is_forgotten() -> None:
    assert PROGRAMS.keys() == SHOWN.keys()


# --- docstrings -----------------------------------------------------------------------------------
def examples(module: ModuleType) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(module)
    return [test for test in found if test.examples]


async def check(test: doctest.DocTest, names: dict[str, Any]) -> None:
    """Each example shows what it gives; ``await`` may stand anywhere."""
    shown: list[str] = []
    names["print"] = lambda *values: shown.append(" ".join(map(str, values)) + "\n")
    for example in test.examples:
        shown.clear()
        source = ast.parse(example.source)
        is_value = isinstance(source.body[-1], ast.Expr)
        if is_value:
            last = source.body[-1]
            assert isinstance(last, ast.Expr)
            source.body[-1] = ast.fix_missing_locations(
                ast.Assign([ast.Name("_value", ast.Store())], last.value, lineno=last.lineno)
            )
        names["_value"] = None
        code = compile(source, test.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, names)
        else:
            await asyncio.to_thread(exec, code, names)
        if names["_value"] is not None:
            shown.append(repr(names["_value"]) + "\n")
        given = "".join(shown)
        checker = doctest.OutputChecker()
        flags = doctest.ELLIPSIS
        assert checker.check_output(example.want, given, flags), f"{test.name}: {given}"


@pytest.mark.usefixtures("connected")
async def test_the_examples_of_the_blocking_client() -> None:
    with Client() as client:
        tests = [*examples(sync_client), *examples(webhooks)]
        assert len(tests) > 3
        for test in tests:
            await check(test, {"client": client, "Client": Client, **vars(agentpost_client)})


@pytest.mark.usefixtures("connected")
async def test_the_examples_of_the_client_for_asyncio() -> None:
    async with AsyncClient() as client:
        tests = examples(async_client)
        assert len(tests) > 2
        for test in tests:
            await check(test, {**vars(agentpost_client), "client": client})
