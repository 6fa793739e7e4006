"""What the author of an agent reads when `agentpost serve` cannot import it."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from agentpost.agents.registry import Agent, UnknownAgent, adapter_of, resolve
from agentpost.bootstrap import surroundings, way_out
from agentpost.settings import load_settings
from tests import forking

BROKEN = {
    "syntax": (
        "import os\nasync def agent(turn:\n    pass\n",
        ['  File "{file}", line 2', "    async def agent(turn:", "                   ^"],
        "SyntaxError: '(' was never closed",
    ),
    "missing": (
        "import json\nimport nowhere_to_be_found\n",
        ['  File "{file}", line 2, in <module>', "    import nowhere_to_be_found"],
        "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    ),
    "name": (
        "from json import nonsense\n",
        ['  File "{file}", line 1, in <module>', "    from json import nonsense"],
        "ImportError: cannot import name 'nonsense' from 'json'",
    ),
    "raises": (
        "import json\n\ndef read():\n    return json.loads('{')\n\nsettings = read()\n",
        ['  File "{file}", line 4, in read', "    return json.loads('{')"],
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes",
    ),
    "exits": (
        "raise SystemExit('set SHOP_KEY first')\n",
        ['  File "{file}", line 1, in <module>', "    raise SystemExit('set SHOP_KEY first')"],
        "SystemExit: set SHOP_KEY first",
    ),
}


GRAPH = """
from typing import TypedDict
from langgraph.graph import START, StateGraph
{}
builder = StateGraph(State).add_node('n', lambda s: s).add_edge(START, 'n')
agent = builder.compile()
"""
LACKING = [
    ("WORKER_IMPORTS = 'csv'", "WORKER_IMPORTS must be a list of names"),
    ("WORKER_IMPORTS = [1]", "WORKER_IMPORTS must be a list of names"),
    *((f"WARM_UP = {each}", "WARM_UP must be a coroutine function") for each in ("len", "'load'")),
    *(
        (f"EXAMPLES = {each}", "EXAMPLES must be a list of messages")
        for each in ("'Weather?'", "[1]", "[' ']", "{'Weather?'}")
    ),
    (
        GRAPH.format("class State(TypedDict):\n    messages: list\nCHARGE = 3"),
        "its CHARGE must be a function",
    ),
    (
        GRAPH.format("class State(TypedDict):\n    a: str\n    b: str"),
        "has the fields a, b, and no field is",
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the author stands, who imports from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def resolved(folder: Path, code: str) -> Agent:
    """The agent of a module with this code."""
    name = f"agent_of_{folder.name}"  # a module is imported once in a process
    (folder / f"{name}.py").write_text(code)
    return resolve(f"{name}:agent")


@pytest.mark.parametrize("case", BROKEN)
def test_an_agent_that_cannot_be_imported_is_reported_with_its_line(
    case: str, folder: Path
) -> None:
    text, place, message = BROKEN[case]
    with pytest.raises(UnknownAgent) as raised:
        resolved(folder, text)
    first, *shown, last = str(raised.value).splitlines()
    (file,) = folder.glob("*.py")
    marks = {" ", "^", "~"}  # newer interpreters mark the place in the line as well
    assert first == f"AGENTPOST_AGENT='{file.stem}:agent' cannot be imported:"
    kept = [line for line in shown if case == "syntax" or set(line) - marks]
    assert kept == [line.replace("{file}", str(file)) for line in place]
    assert last.startswith(message)


def test_an_import_that_is_missing_in_a_package_is_not_taken_for_the_agent(folder: Path) -> None:
    package = folder / "shop_of_tests"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "support.py").write_text("import shop_of_tests.stock\n")
    with pytest.raises(UnknownAgent, match=r"import shop_of_tests\.stock"):
        resolve("shop_of_tests.support:agent")


@pytest.mark.parametrize(
    ("line", "names"), [("", ()), ("WORKER_IMPORTS = ['csv', 'json.tool']", ("csv", "json.tool"))]
)
def test_an_agent_names_what_its_steps_import(
    line: str, names: tuple[str, ...], folder: Path
) -> None:
    agent = resolved(folder, f"{line}\nasync def agent(turn): ...\n")
    assert agent.worker_imports == names


@pytest.mark.parametrize(("code", "reported"), LACKING)
def test_what_a_module_lacks_is_told(code: str, reported: str, folder: Path) -> None:
    with pytest.raises(UnknownAgent, match=reported):
        resolved(folder, f"async def agent(turn): ...\n{code}\n")


def test_workers_of_the_built_in_agent_import_what_is_there() -> None:
    for name in resolve("offline").worker_imports:
        assert importlib.util.find_spec(name) is not None


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ("hello", "is neither 'offline' nor 'module:object'"),
        ("hello.py:agent", "'hello.py' is not the name of a module"),
        ("shop/hello:agent", "'shop/hello' is not the name of a module"),
        ("..hello:agent", "'..hello' is not the name of a module"),
        ("nowhere_at_all:agent", "there is no module 'nowhere_at_all'"),
        ("json:agent", "json has no 'agent'"),
        ("cmd:", "is neither 'offline' nor 'module:object', nor 'cmd:…'"),
        ("cmd:  ", "it names no program"),
        ("a2a:agents.example.com", "'agents.example.com' is not the URL of an agent card"),
        ("http:agents.example.com", "'agents.example.com' is not a URL"),
        ("json:dumps", "is a builtins.function; it must be a coroutine function"),
        ("json:decoder", "is a builtins.module; it must be a coroutine function"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_name_of_no_agent_is_one_line(spec: str, reported: str) -> None:
    with pytest.raises(UnknownAgent) as raised:
        resolve(spec)
    assert reported in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("by", ["option", "variable"])
def test_serve_says_nothing_else(by: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found\n")
    given = {"AGENTPOST_AGENT": "broken:agent"} if by == "variable" else {}
    options = ["--agent", "broken:agent"] if by == "option" else []
    environment = {**os.environ, "AGENTPOST_DATA_DIR": str(tmp_path / "data"), **given}
    ended = forking.run(["serve", "--port", "0", *options], env=environment, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        "agentpost: AGENTPOST_AGENT='broken:agent' cannot be imported:",
        f'  File "{tmp_path / "broken.py"}", line 1, in <module>',
        "    import nowhere_to_be_found",
        "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    ]


def test_a_service_needs_a_secret_that_signs() -> None:
    with pytest.raises(ValueError, match="AGENTPOST_AGENT_SECRET"):
        wire_up(resolve("https://agents.example.com/agent"), secret="swordfish")


def wire_up(agent: Agent, secret: str) -> None:
    """As a server does before it runs an agent that is elsewhere."""
    settings = load_settings(agent_secret=secret)
    assert agent.attach is not None
    agent.attach(surroundings(settings, way_out(settings)))


def test_an_object_of_a_package_with_a_framework_s_name_is_none_of_it() -> None:
    """Anybody may have a package called agents."""
    mine = type("Agent", (), {"__module__": "agents.mine"})
    theirs = type("Agent", (), {"__module__": "agents.agent"})
    assert adapter_of(mine()) is None
    assert adapter_of(theirs()) == ("agentpost.agents.adapters.openai_agents", "OpenAIAgents")


def test_an_installed_distribution_names_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "site-packages"
    metadata = installed / "shop_support-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-support\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[agentpost.agents]\nhelpdesk = shop_helpdesk:answer\ntwice = shop_helpdesk:answer\n"
    )
    (installed / "shop_helpdesk.py").write_text(
        'async def answer(turn):\n    turn.reply("here")\n\nEXAMPLES = ["Where is my parcel?"]\n'
    )
    monkeypatch.syspath_prepend(str(installed))
    agent = resolve("helpdesk")
    assert (agent.name, agent.examples) == ("helpdesk", ("Where is my parcel?",))
    with pytest.raises(UnknownAgent, match=r"an installed agent \(helpdesk, offline, twice\)"):
        resolve("helpdesks")
    other = tmp_path / "other" / "shop_other-1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[agentpost.agents]\ntwice = another:agent\n")
    monkeypatch.syspath_prepend(str(other.parent))
    with pytest.raises(UnknownAgent, match="another:agent, shop_helpdesk:answer"):
        resolve("twice")
