"""Running the command as people do, and reading what it says."""

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from agentpost.cli import app
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import ACCOUNT, KEY, AgentServer


@dataclass(frozen=True)
class Verdict:
    """What the command printed as JSON, and its exit code."""

    code: int
    report: dict[str, Any]

    def names(self, outcome: str) -> set[str]:
        """The checks that ended so, as ``group/name``."""
        return {f"{c['group']}/{c['name']}" for c in self.report["checks"] if is_(c, outcome)}

    def unproved(self) -> dict[str, str]:
        """Every check that is not proved, and why."""
        return {
            f"{c['group']}/{c['name']}": c.get("why") or f"{c['expected']}; {c['got']}"
            for c in self.report["checks"]
            if not is_(c, "proved")
        }

    def check(self, name: str) -> dict[str, Any]:
        """All that is told of ``group/name``."""
        found: dict[str, Any]
        (found,) = [c for c in self.report["checks"] if f"{c['group']}/{c['name']}" == name]
        return found


def is_(check: dict[str, Any], outcome: str) -> bool:
    return bool(check["outcome"] == outcome)


def verify(url: str, *groups: str, options: tuple[str, ...] = (), key: str = KEY) -> Verdict:
    """`agentpost verify --json` of these groups, or of all."""
    only = [word for group in groups for word in ("--only", group)]
    arguments = ["verify", "--json", "--url", url, "--key", key, *only, *options]
    result = CliRunner().invoke(app, arguments)
    assert result.stdout, (result.output, result.exception)
    return Verdict(result.exit_code, json.loads(result.stdout))


def offline_server(start: ServerMaker, **settings: object) -> AgentServer:
    """One with the built-in agent, which may call receivers on this machine."""
    return start(
        agent="offline",
        egress_allow="127.0.0.1/32",
        webhook_retry_seconds="0.5",
        sweep_seconds=0.05,
        **settings,
    )


def second_key(server: AgentServer, account: str = ACCOUNT) -> str:
    key: str = server.command("keys", "create", "--account", account, "--name", "second")["key"]
    return key
