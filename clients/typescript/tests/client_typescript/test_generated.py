"""What docs/client_typescript.py makes is up to date, and the client offers every operation."""

import json
import re
import runpy

import pytest

from tests.house.tree import DOCS, ROOT, document

CLIENT = ROOT / "clients" / "typescript"
SCRIPT = runpy.run_path(str(DOCS / "client_typescript.py"))
API = CLIENT / "src" / "api.ts"
DOCUMENT = json.loads(document(DOCS / "openapi.json"))


def operations() -> list[str]:
    """The ids of all operations."""
    paths = DOCUMENT["paths"].values()
    return [operation["operationId"] for methods in paths for operation in methods.values()]


def test_the_types_are_up_to_date() -> None:
    command = "python docs/client_typescript.py > clients/typescript/src/api.ts"
    assert SCRIPT["text"](DOCUMENT) == API.read_text("utf-8"), command


def test_every_operation_is_offered() -> None:
    sources = [path for path in (CLIENT / "src").glob("*.ts") if path != API]
    called = set(
        re.findall(
            r'transport\.(?:call|open)\("(\w+)"', "".join(path.read_text() for path in sources)
        )
    )
    assert called == set(operations())


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"const": "message"}, '"message"'),
        ({"enum": ["a", "b"], "type": "string"}, '"a" | "b"'),
        ({"$ref": "#/components/schemas/JobShape"}, "Job"),
        ({"$ref": "#/components/schemas/FileShape"}, "OutputFile"),
        ({"$ref": "#/components/schemas/MessageIn"}, "MessageInput"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'Array<"a" | "b">'),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "Record<string, string>"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"type": "string", "examples": ["a", "b"]}, '"a" | "b" | (string & {})'),
        ({}, "unknown"),
    ],
)
def test_a_schema_becomes_a_type(schema: dict[str, object], expected: str) -> None:
    assert SCRIPT["type_of"](schema, open_words=True) == expected


def test_the_package_says_its_own_version() -> None:
    """In the same words everywhere: the source, the package, its lock file and the page."""
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    locked = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
    version = package["version"]
    assert (locked["version"], locked["packages"][""]["version"]) == (version, version)
    assert f'VERSION = "{version}"' in (CLIENT / "src" / "version.ts").read_text("utf-8")
    page = document(DOCS / "typescript.md")
    assert set(re.findall(r"agentpost-client-(\d[\d.]*\d)\.tgz", page)) == {version}
