"""The TypeScript client in each JavaScript runtime that docs/typescript.md names: `make runtimes`.

Not a part of `make test`: the runtimes have 400 MB. ``package.json`` beside this pins them; their
programs come in npm packages. The client is the package as it is published.
"""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse
from starlette.routing import Route

from agentpost_client import Client
from tests.client.scripted import served
from tests.client_typescript.package import install
from tests.e2e.fixtures import ServerMaker, new_database, start_server
from tests.e2e.server import KEY, AgentServer
from tests.node import require_packages, run
from tests.servers import free_port
from tests.web.browser import chromium

__all__ = ["new_database", "start_server"]

HERE = Path(__file__).parent
BUILD = HERE / "build"
BIN = HERE / "node_modules" / ".bin"
EXPECTED = [
    "streamed: true, completed",
    "downloaded: true",
    "uploaded: true",
    "refused: not_found",
    "not this API",
    "not reached",
    "Error: the user left",
    "webhook: msg_1",
    "webhook refused",
]
COMMANDS = {
    "node": ["node", "run_module.js"],
    "node-commonjs": ["node", "run_commonjs.cjs"],
    "bun": [str(BIN / "bun"), "run_module.js"],
    "deno": [str(BIN / "deno"), "run", "--allow-net", "--allow-env", "run_module.js"],
    "workerd": ["node", "run_worker.mjs", "build/worker.js"],
    "edge-runtime": ["node", "run_edge.mjs", "build/edge.js"],
}


@pytest.fixture(scope="module", autouse=True)
def packages() -> Path:
    """The client's package, where the programs beside this find it, and bundles of them. Gives the
    tar file."""
    require_packages(HERE)
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    tar = install(HERE / "node_modules", BUILD)
    for source, name, *options in (
        ("exercise.js", "exercise.cjs", "--format=cjs", "--packages=external"),
        ("worker.js", "worker.js", "--format=esm", "--conditions=workerd,worker"),
        ("exercise.js", "edge.js", "--format=iife", "--global-name=bundle"),
        ("upload.js", "upload.js", "--format=iife"),
    ):
        target = f"--outfile=build/{name}"
        done = run(str(BIN / "esbuild"), source, "--bundle", target, *options, folder=HERE)
        assert done.returncode == 0, done.stderr
    return tar


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(agent="offline")


@pytest.fixture(scope="module")
def given(server: AgentServer) -> Iterator[str]:
    """The argument of `exercise`; the server that it is redirected to must not be asked."""
    asked: list[str] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/trap")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        here = "http://127.0.0.1"
        addresses = {
            "redirecting": f"{here}:{http.server_port}",
            "nowhere": f"{here}:{free_port()}",
        }
        yield json.dumps({"url": server.url, "key": KEY, **addresses})
        http.shutdown()
        thread.join()
    assert set(asked) == {"/v1/me"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_runtime_runs_it(name: str, given: str, tmp_path: Path) -> None:
    done = run(
        *COMMANDS[name], given, folder=HERE, DENO_DIR=str(tmp_path), DENO_NO_UPDATE_CHECK="1"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == EXPECTED


def test_jest_runs_it(given: str) -> None:
    match = "--testMatch=**/*.test.cjs"
    done = run(
        *(str(BIN / "jest"), match, "--ci", "--coverage=false"),
        folder=HERE,
        GIVEN=given,
        EXPECTED=json.dumps(EXPECTED),
    )
    assert done.returncode == 0, done.stderr


def test_a_browser_sends_a_file(server: AgentServer) -> None:
    """From a page of another server, as it is documented."""
    page = HTMLResponse('<link rel="icon" href="data:,"><script src="upload.js"></script>')
    script = FileResponse(BUILD / "upload.js", media_type="text/javascript")
    routes = [Route("/", lambda _: page), Route("/upload.js", lambda _: script)]
    assert chromium.find_program() is not None, chromium.MISSING
    text = "month,revenue\nJan,120\n"
    with (
        Client(server.url, KEY) as client,
        served(Starlette(routes=routes)) as url,
        chromium.started() as browser,
        chromium.visiting(browser) as (context, problems),
    ):
        upload = client.uploads.create("Umsätze.csv", len(text), "text/csv")
        visited = context.new_page()
        visited.goto(url)
        assert visited.evaluate("([upload, text]) => send(upload, text)", [upload.raw, text]) == 1
        assert client.uploads.complete(upload.upload_id).size == len(text)
        assert problems == []


@pytest.mark.parametrize("tool", ["attw", "publint"])
def test_checkers_of_packages_find_nothing(tool: str, packages: Path) -> None:
    done = run(str(BIN / tool), str(packages), folder=HERE)
    assert done.returncode == 0, done.stdout
