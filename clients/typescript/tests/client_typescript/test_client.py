"""The TypeScript client is built with its own compiler and tried against a real server.

It needs Node.js 20 with npm, and the npm registry when the compiler is not installed yet.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.client_typescript.package import CLIENT, DIST, build, fingerprint, install
from tests.docs.snippets import blocks
from tests.e2e.fixtures import ServerMaker, new_database, start_server
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import DOCS, ROOT
from tests.node import run
from tests.servers import locked, run_dir

__all__ = ["new_database", "start_server"]

PACKED_BYTES_MAX = 60_000
COMPILED = ROOT / ".tools" / "typescript-project"
"""The compiled programs of docs/typescript.md, kept for as long as they would come out the same."""


@pytest.fixture(scope="module")
def built() -> Path:
    """The compiled tests of the client."""
    return build()


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    """A server with the built-in agent."""
    return start_server(agent="offline")


def test_it_works_against_a_server(built: Path, server: AgentServer) -> None:
    """The tests in clients/typescript/test, those with a scripted server among them."""
    tests = sorted(str(path) for path in built.glob("*.test.js"))
    assert len(tests) == len(list((CLIENT / "test").glob("*.test.ts")))
    done = run("node", "--test", *tests, folder=CLIENT, AGENTPOST_URL=server.url, AGENTPOST_KEY=KEY)
    assert done.returncode == 0, done.stdout[-6000:]


# --- the programs of docs/typescript.md -----------------------------------------------------------
SHOWN = {
    "stream.js": ["agent_reply\nprogress\n", "result\ncompleted\n"],
    "careful.js": ["no such message 404 true"],
    "check.js": ["completed: msg_1\n204 400\n", "255"],
    "commonjs/commonjs.js": ["not_found function function"],
}
COMMONJS = """\
import { Client, ApiError, type Message } from "agentpost-client";
import { uploadFile } from "agentpost-client/browser";
import { unwrap } from "agentpost-client/webhooks";

const got: Promise<Message> = new Client().messages.get("msg_none");
got.catch((error: unknown) => {
  if (error instanceof ApiError) console.log(error.code, typeof uploadFile, typeof unwrap);
});
"""
OPTIONS = {
    "target": "ES2022",
    "module": "NodeNext",
    "lib": ["ES2023", "DOM", "DOM.Iterable"],
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "types": ["node"],
    "skipDefaultLibCheck": True,
}
"""Stricter than what most readers have. The compiler's own libraries are not checked, which takes a
third of its time; the declarations of the package are."""


@pytest.fixture(scope="module")
def project(built: Path) -> Path:
    """A reader's project: the package as it is published, the programs of the page, compiled when
    one of them has changed; a copy for this run."""
    folder = run_dir() / "typescript-project"
    package = [DIST / "src", DIST / "cjs", CLIENT / "package.json", CLIENT / "package-lock.json"]
    tests = Path(__file__).parent
    sources = fingerprint(
        *package, *tests.glob("*.py"), *tests.glob("*.js"), DOCS / "typescript.md"
    )
    COMPILED.parent.mkdir(exist_ok=True)
    with locked(COMPILED.with_suffix(".lock")):
        stamp = COMPILED / ".stamp"
        if not stamp.exists() or stamp.read_text() != sources:
            shutil.rmtree(COMPILED, ignore_errors=True)
            _write_project(COMPILED)
            stamp.write_text(sources)
        if not folder.exists():
            draft = folder.with_suffix(".draft")
            shutil.copytree(COMPILED, draft, symlinks=True)
            draft.rename(folder)
    return folder


def _write_project(folder: Path) -> None:
    modules = folder / "node_modules"
    modules.mkdir(parents=True)
    assert install(modules, folder).stat().st_size < PACKED_BYTES_MAX
    (modules / "@types").symlink_to(CLIENT / "node_modules" / "@types")
    (folder / "package.json").write_text('{"type": "module"}')
    own = {"compilerOptions": OPTIONS, "exclude": ["commonjs"]}
    (folder / "tsconfig.json").write_text(json.dumps(own))
    (folder / "sales.csv").write_text("month,revenue\nJan,120\nFeb,135\n")
    (folder / "check.js").write_text((Path(__file__).parent / "check_page.js").read_text("utf-8"))
    for block in blocks(DOCS / "typescript.md"):
        if block.kind == "ts":
            name = block.text.partition("\n")[0].removeprefix("// ")
            (folder / name).write_text(block.text)
    for n, block in enumerate(blocks(CLIENT / "README.md")):
        if block.text.startswith("import "):  # the other one is of two programs
            (folder / f"readme_{n}.ts").write_text(block.text)
    _write_commonjs(folder / "commonjs")
    _compile(folder)
    _compile(folder / "commonjs")


def _write_commonjs(folder: Path) -> None:
    """A program of the kind that knows no ``exports`` of packages, and whose output is CommonJS."""
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    resolved = {"module": "CommonJS", "moduleResolution": "Node10", "types": []}
    options = {"compilerOptions": {**OPTIONS, **resolved}}
    (folder / "tsconfig.json").write_text(json.dumps(options))
    (folder / "commonjs.ts").write_text(COMMONJS)


def _compile(folder: Path) -> None:
    compiler = CLIENT / "node_modules" / "typescript" / "bin" / "tsc"
    done = run("node", str(compiler), "-p", ".", folder=folder)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SHOWN)
def test_a_program_does_what_the_page_says(project: Path, server: AgentServer, name: str) -> None:
    environment = {"AGENTPOST_URL": server.url, "AGENTPOST_KEY": KEY}
    done = run("node", name, folder=project, **environment)
    assert done.returncode == 0, done.stderr
    for text in SHOWN[name]:
        assert text in done.stdout


def test_the_first_program_runs_from_an_empty_folder(
    built: Path, server: AgentServer, tmp_path: Path
) -> None:
    """As the page says it, with the package that is packed here."""
    page = list(blocks(DOCS / "typescript.md"))
    packing, setting_up, starting = (block.text for block in page if block.kind == "sh")
    assert packing.rstrip().endswith("npm pack ./clients/typescript")
    packed = run("npm", "pack", str(CLIENT), folder=tmp_path)
    assert packed.returncode == 0, packed.stderr
    program = next(block.text for block in page if block.kind == "js")
    setting_up = re.sub(r"AGENTPOST_URL=\S+ AGENTPOST_KEY=\S+", "THE=server", setting_up)
    (tmp_path / "first.mjs").write_text(program)
    script = f"set -e\n{setting_up}\ncp ../first.mjs .\n{starting}"
    done = run(
        *("bash", "-c", script), folder=tmp_path, AGENTPOST_URL=server.url, AGENTPOST_KEY=KEY
    )
    assert "completed Column chart" in done.stdout, done.stdout + done.stderr
    assert "saved sales-chart.png" in done.stdout
    assert (tmp_path / "shop" / "sales-chart.png").stat().st_size > 10_000


def test_every_program_of_the_page_is_run(project: Path) -> None:
    """``check.js`` calls those that are no programs of their own; one is for a browser."""
    of_check = {"hook", "server_side"}
    written = {path.stem for path in project.glob("*.ts") if not path.stem.startswith("readme_")}
    assert written == {Path(name).stem for name in SHOWN} - {"check", "commonjs"} | of_check | {
        "browser_side"
    }
