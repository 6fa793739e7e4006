"""Paths of files inside a work: relative, plain, the same on every system."""

from __future__ import annotations

import re

from agentpost.domain.limits import FILE_NAME_CHARACTERS_MAX, FILE_PATH_CHARACTERS_MAX

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


def check_path(path: str) -> str:
    """The path, if a file of a work may have it; raises `ValueError` saying why not."""
    if not path or len(path) > FILE_PATH_CHARACTERS_MAX:
        raise ValueError(f"a path has 1 to {FILE_PATH_CHARACTERS_MAX} characters")
    if _FORBIDDEN.search(path):
        raise ValueError("a path holds no control characters and no backslashes")
    for part in path.split("/"):
        if part in ("", ".", ".."):
            raise ValueError("a path is relative, without empty parts, '.' and '..'")
        if len(part) > FILE_NAME_CHARACTERS_MAX:
            raise ValueError(f"a file name has at most {FILE_NAME_CHARACTERS_MAX} characters")
    return path
