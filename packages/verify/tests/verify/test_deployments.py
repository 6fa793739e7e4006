"""The whole of `agentpost verify` against real servers: nothing fails, nothing stays behind."""

import pytest
from typer.testing import CliRunner

from agentpost.cli import app
from agentpost_verify.running import GROUPS, list_checks
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, AgentServer
from tests.servers import free_port
from tests.verify.verifying import offline_server, second_key, verify

NO_LIMIT_HIT = {"every-answer/retry-after"}
NO_OUTPUT = {"additions/output"}
"""No agent here gives an output for a schema that it does not know."""


@pytest.fixture(scope="module")
def offline(start_server: ServerMaker) -> AgentServer:
    """With the built-in agent, and limits as they are by default."""
    return offline_server(start_server, requests_per_minute=600)


def checks(*groups: str) -> set[str]:
    selection = [group for group in GROUPS if not groups or group.name in groups]
    return {f"{check.group.name}/{check.name}" for check in list_checks(selection)}


def test_everything_is_proved_of_the_whole_server(offline: AgentServer) -> None:
    port = free_port()
    hooks = ("--hooks-url", f"http://127.0.0.1:{port}/hooks", "--hooks-port", str(port))
    reported = verify(offline.url, options=(*hooks, "--second-key", second_key(offline)))
    assert reported.unproved().keys() == NO_LIMIT_HIT | NO_OUTPUT, reported.unproved()
    assert reported.names("proved") == checks() - NO_LIMIT_HIT - NO_OUTPUT
    assert reported.code == 0
    assert reported.report["left_behind"] == []
    assert reported.report["messages_sent"] == 15
    caller = Caller(offline)
    assert caller.call("GET", "/v1/webhooks").json()["data"] == []
    assert caller.call("GET", "/v1/work").json()["data"] == []


def test_the_key_of_another_account_proves_ownership_too(offline: AgentServer) -> None:
    offline.command("accounts", "create", "--email", "other@example.com")
    other = second_key(offline, "other@example.com")
    reported = verify(offline.url, "ownership", options=("--second-key", other))
    assert reported.names("proved") == checks("ownership")


def test_the_same_key_twice_proves_nothing(offline: AgentServer) -> None:
    reported = verify(offline.url, "ownership", options=("--second-key", KEY))
    assert reported.names("not_checked") == checks("ownership")


def test_an_unknown_agent_is_not_judged(plain_server: AgentServer) -> None:
    """It answers every message and never starts a job."""
    reported = verify(plain_server.url)
    assert (reported.code, reported.names("failed")) == (0, set())
    needs_a_job = checks("jobs", "files") | {"work/one", "work/pages", "work/from-char-bounds"}
    needs_a_job -= {"jobs/recover-unknown", "files/unknown"}
    others = checks("deliveries", "ownership") | NO_LIMIT_HIT | NO_OUTPUT | {"additions/question"}
    assert reported.names("not_checked") == needs_a_job | others
    assert "started no job" in reported.check("jobs/fields")["why"]
    assert "--hooks-url" in reported.check("deliveries/signed")["why"]
    assert "--second-key" in reported.check("ownership/foreign-cursor")["why"]


def test_a_person_reads_what_was_proved_and_done(plain_server: AgentServer) -> None:
    arguments = ["verify", "--url", plain_server.url, "--key", KEY, "--only", "reading"]
    result = CliRunner().invoke(app, arguments)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.output
    assert lines[0] == f"{plain_server.url}: 6 checks, 1 message to its agent."
    assert "reading · reading and waiting" in lines
    assert "  ✓ unknown: An unknown message is not_found." in lines
    assert lines[-2] == "6 proved, 0 not checked, 0 failed"
    assert lines[-1].startswith("1 message sent, ")
