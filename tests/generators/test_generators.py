"""The generator that is quick enough for every run; `make generators` tries them all."""

import json
import re
from pathlib import Path

from tests.e2e.fixtures import new_database, plain_server
from tests.e2e.server import AgentServer
from tests.generators.generated import BIN, HERE, RESULTS, python, results
from tests.house.tree import DOCS, document

__all__ = ["new_database", "plain_server"]

QUICK = python(
    "openapi-python-client",
    "openapi_python_client.py",
    "agentpost_api",
    *(str(BIN / "openapi-python-client"), "generate", "--path", "openapi.json"),
    *("--meta", "none", "--output-path", "agentpost_api"),
    *("--config", "openapi_python_client.json"),
    files=("openapi_python_client.json",),
)


def test_its_client_works(plain_server: AgentServer, tmp_path: Path) -> None:
    assert results(QUICK, plain_server, tmp_path) == RESULTS


def test_the_page_names_the_versions_that_are_tried() -> None:
    packages = json.loads((HERE / "package.json").read_text("utf-8"))["dependencies"]
    required = "".join(file.read_text("utf-8") for file in HERE.glob("requirements*.txt"))
    tried = {**packages, **dict(re.findall("^(.+)==(.+)$", required, re.M))}
    for name in ("@types/node", "python-dateutil", "typescript", "urllib3"):
        del tried[name]
    named = re.findall(r"^\| ([@\w/-]+).*? \| (\d[\d.]+) ", document(DOCS / "api.md"), re.M)
    assert dict(named) == tried
