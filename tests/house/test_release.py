"""What a release is checked with: the audit of dependencies."""

import runpy
from typing import Any

import pytest

from tests.house.tree import ROOT

AUDIT: dict[str, Any] = runpy.run_path(str(ROOT / ".ci/audit.py"))
SOUND = {"name": "a", "version": "1", "vulns": []}
HOLED = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not there"}


@pytest.mark.parametrize(
    ("report", "code", "last"),
    [
        ([SOUND], 0, "audit: no known vulnerability in 1 of 1 packages"),
        ([SOUND, UNKNOWN], 0, "audit: no known vulnerability in 1 of 2 packages"),
        ([SOUND, HOLED], 1, "audit: 1 vulnerabilities in 2 of 2 packages"),
        ([UNKNOWN], 0, "audit: NOT DONE, the service knows none of 1 packages"),
    ],
)
def test_an_audit_says_what_it_found(report: list[object], code: int, last: str) -> None:
    got, lines = AUDIT["verdict"]({"dependencies": report}, "")
    assert (got, lines[-1]) == (code, last)


def test_an_audit_without_its_service_says_so_and_fails_nothing() -> None:
    got = AUDIT["verdict"](None, "Traceback\nConnectionError: pypi.org\n")
    assert got == (0, ["audit: NOT DONE, no advisories: ConnectionError: pypi.org"])


def test_a_vulnerable_package_is_named_with_its_remedy() -> None:
    _, lines = AUDIT["verdict"]({"dependencies": [HOLED, UNKNOWN]}, "")
    assert lines[:2] == ["b 2: CVE-1 (fixed in 3)", "not audited: c, not there"]
