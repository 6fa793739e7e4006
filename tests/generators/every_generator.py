"""The generators that take minutes, which `make generators` installs and runs.

They need Node.js and a JDK.
"""

import json
import re
import shutil
from pathlib import Path

import httpx2
import pytest

from tests.e2e.fixtures import new_database, plain_server
from tests.e2e.server import AgentServer
from tests.generators.generated import BIN, RESULTS, Generator, python, results, succeed, typescript

__all__ = ["new_database", "plain_server"]


def openapi_generator(language: str, output: str, *options: str) -> tuple[str, ...]:
    """The command that makes a client with openapi-generator."""
    program = str(BIN / "openapi-generator-cli")
    return (program, "generate", "-i", "openapi.json", "-g", language, "-o", output, *options)


COMPILE_JAVA = """\
find client/src/main/java Generated.java Calls.java -name '*.java' >sources
javac -nowarn -d classes -cp "$1" @sources
"""
"""The generator brings the libraries that its Java clients need."""


def java() -> Generator:
    """openapi-generator's clients for `java.net.http`."""
    (jar,) = map(str, BIN.parent.glob("lib/*/site-packages/openapi_generator_cli/*.jar"))
    commands = (
        openapi_generator(
            "java",
            "client",
            *("--library", "native", "--additional-properties=openApiNullable=false"),
        ),
        ("sh", "-ec", COMPILE_JAVA, "sh", jar),
        ("java", "-cp", f"classes:{jar}", "Calls"),
    )
    return Generator("openapi-generator java", "Calls.java", commands, ("Generated.java",))


OTHERS = (
    typescript(
        "openapi-typescript",
        "openapi_fetch.ts",
        *("node", "node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.ts"),
    ),
    typescript(
        "@hey-api/openapi-ts",
        "hey_api.ts",
        *("node", "node_modules/@hey-api/openapi-ts/bin/run.js"),
        files=("openapi-ts.config.js",),
    ),
    typescript(
        "openapi-generator typescript-fetch",
        "typescript_fetch.ts",
        *openapi_generator(
            "typescript-fetch", "client", "--additional-properties=importFileExtension=.js"
        ),
    ),
    python(
        "openapi-generator python", "python.py", "openapi_client", *openapi_generator("python", ".")
    ),
    python(
        "datamodel-code-generator",
        "datamodel_code_generator.py",
        "models.py",
        str(BIN / "datamodel-codegen"),
        *("--input", "openapi.json", "--input-file-type", "openapi", "--output", "models.py"),
        *("--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11"),
    ),
)


@pytest.mark.parametrize("generator", OTHERS, ids=lambda generator: generator.name)
def test_its_client_works(generator: Generator, plain_server: AgentServer, tmp_path: Path) -> None:
    assert results(generator, plain_server, tmp_path) == RESULTS


def test_a_java_client_works(plain_server: AgentServer, tmp_path: Path) -> None:
    if shutil.which("javac") is None:
        pytest.skip("there is no JDK: no Java client is compiled")
    assert results(java(), plain_server, tmp_path) == RESULTS


@pytest.mark.parametrize("language", ["csharp", "go", "kotlin", "php", "ruby", "rust"])
def test_every_operation_is_generated(
    language: str, plain_server: AgentServer, tmp_path: Path
) -> None:
    """In languages whose compiler is not asked for."""
    document = httpx2.get(f"{plain_server.url}/openapi.json")
    (tmp_path / "openapi.json").write_bytes(document.content)
    printed = succeed(openapi_generator(language, "client"), tmp_path)
    assert "Duplicate file path" not in printed
    sources = "".join(
        path.read_text("utf-8", "replace")
        for path in (tmp_path / "client").rglob("*")
        if path.is_file() and path.suffix in {".cs", ".go", ".kt", ".php", ".rb", ".rs"}
    )
    words = set(re.findall(r"\w+", sources.replace("_", "").lower()))
    operations = [
        operation["operationId"].lower()
        for methods in json.loads(document.content)["paths"].values()
        for operation in methods.values()
    ]
    assert [name for name in operations if name not in words] == []
