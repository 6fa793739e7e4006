"""Asks the advisory service about every package that an installation with all extras brings.

    python .ci/audit.py UV

The exit code is 1 when a package has a known vulnerability. When the service cannot be reached, or
knows none of the packages, the last line says that nothing was audited, and the exit code is 0: a
network that lacks the service is no fault of a change.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXPORT = [
    *("export", "--quiet", "--locked", "--no-default-groups", "--all-extras", "--no-hashes"),
    *("--no-emit-workspace", "--format", "requirements.txt"),
]
SECONDS_MAX = 300


def verdict(report: dict[str, Any] | None, errors: str) -> tuple[int, list[str]]:
    """Exit code and lines.

    Args:
        report: what pip-audit printed as JSON; None when it could not.
        errors: what it printed besides.
    """
    if report is None:
        said = errors.strip().splitlines()
        return 0, [f"audit: NOT DONE, no advisories: {said[-1] if said else 'no answer'}"]
    packages = report["dependencies"]
    skipped = [each for each in packages if "skip_reason" in each]
    asked = [each for each in packages if "skip_reason" not in each]
    if not asked:
        return 0, [f"audit: NOT DONE, the service knows none of {len(packages)} packages"]
    found = [
        f"{each['name']} {each['version']}: {vulnerability['id']}"
        f" (fixed in {', '.join(vulnerability['fix_versions']) or 'no version'})"
        for each in asked
        for vulnerability in each["vulns"]
    ]
    lines = [*found, *(f"not audited: {each['name']}, {each['skip_reason']}" for each in skipped)]
    said = f"{len(found)} vulnerabilities" if found else "no known vulnerability"
    return int(bool(found)), [*lines, f"audit: {said} in {len(asked)} of {len(packages)} packages"]


def main(uv: str) -> int:
    """Run pip-audit on what uv.lock has; prints the lines."""
    locked = subprocess.run([uv, *EXPORT], capture_output=True, text=True, check=True)  # noqa: S603
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder, "requirements.txt")
        requirements.write_text(locked.stdout, "utf-8")
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements)]
        command += ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
            )
            report, errors = done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            report, errors = "", f"no answer within {SECONDS_MAX} seconds"
    try:
        code, lines = verdict(json.loads(report), errors)
    except json.JSONDecodeError:
        code, lines = verdict(None, errors)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
