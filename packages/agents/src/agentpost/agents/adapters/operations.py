"""What an agent elsewhere asks for: an operation for each line of JSON."""

from __future__ import annotations

import base64
import json
from typing import Any, TypeAlias

Operation: TypeAlias = "dict[str, Any]"


def read(line: bytes, failed: type[Exception]) -> Operation:
    """The operation that a line has; raises ``failed`` for anything else."""
    try:
        op = json.loads(line)
    except ValueError:
        raise failed(f"a line is no JSON: {line[:100]!r}") from None
    if not isinstance(op, dict) or not isinstance(op.get("op"), str):
        raise failed(f"a line is no operation: {line[:100]!r}")
    return op


def contents(op: Operation) -> bytes | str:
    """The contents of a file that is written, given as ``text`` or ``base64``."""
    return str(op["text"]) if "text" in op else base64.b64decode(op["base64"])
