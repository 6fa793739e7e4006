"""What changed in the API since the last release: additions, and what would break a client.

    PYTHONPATH=. python .ci/api_changes.py

The last release is the newest tag `v…` that has docs/openapi.json; while there is none, it is
docs/openapi.released.json. The exit code is 1 when something would break.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.house.additive import METHODS, breaking, described_since

ROOT = Path(__file__).parents[1]
TODAY = "docs/openapi.json"
SNAPSHOT = "docs/openapi.released.json"
Json = dict[str, Any]


def released(root: Path = ROOT) -> tuple[str, Json]:
    """The name of the last release and its description."""
    tags = _git(root, "tag", "--list", "v*", "--sort=-version:refname").split()
    for tag in tags:
        text = _git(root, "show", f"{tag}:{TODAY}")
        if text:
            return tag, json.loads(text)
    name = f"{SNAPSHOT} (there is no tag of a release yet)"
    return name, json.loads((root / SNAPSHOT).read_text("utf-8"))


def added(old: Json, new: Json) -> Iterator[str]:
    """Operations, events and fields of schemas that were not there."""
    for path, methods in new["paths"].items():
        for method in METHODS:
            if method in methods and method not in old["paths"].get(path, {}):
                yield f"operation {method.upper()} {path}"
    for name in new.get("webhooks", {}):
        if name not in old.get("webhooks", {}):
            yield f"event {name}"
    before = old["components"]["schemas"]
    for name, schema in new["components"]["schemas"].items():
        if name in before:
            for field in schema.get("properties", {}):
                if field not in before[name].get("properties", {}):
                    yield f"field {name}.{field}"


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout if done.returncode == 0 else ""


def main() -> int:
    """Print the comparison."""
    name, old = released()
    new = json.loads((ROOT / TODAY).read_text("utf-8"))
    lost = [line for line in breaking(old, new) if described_since(line) is None]
    print(f"Compared with {name}:")
    print("\n".join([*(f"+ {each}" for each in added(old, new)), *(f"BREAKS {e}" for e in lost)]))
    print(f"{len(lost)} changes would break a client." if lost else "Nothing breaks a client.")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
