"""Prints docs/openapi.json: the contract as `/openapi.json` serves it, at no address of its own.

    python docs/openapi.py > docs/openapi.json

tests/house/test_generated.py fails when the file is not up to date.
"""

from __future__ import annotations

import json

from agentpost.api import openapi
from agentpost.api.app import OPERATIONS

SERVER = "/"
"""The description goes with any server: its paths are relative to where the file is served."""


def text() -> str:
    """The whole file."""
    document = openapi.document(OPERATIONS, SERVER)
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")
