"""The command line of `agentpost verify`: what cannot begin ends with 2, and says why."""

import json
import os
import signal
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import httpx2
import pytest
from typer.testing import CliRunner, Result

from agentpost.cli import app
from agentpost_verify.running import GROUPS, list_checks
from tests import forking
from tests.e2e.fixtures import new_database, plain_server
from tests.e2e.server import KEY, AgentServer
from tests.verify.mutated import Mutation, ProxiedRequest, ProxiedResponse, bent

__all__ = ["new_database", "plain_server"]
NOWHERE = "http://127.0.0.1:1"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments])


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTPOST_URL", raising=False)
    monkeypatch.delenv("AGENTPOST_KEY", raising=False)


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ((), "No server address"),
        (("--url", NOWHERE), "No API key"),
        (("--url", "nowhere", "--key", "k"), "must be an http:// or https:// address"),
        (("--url", NOWHERE, "--key", "k"), "nothing answers at http://127.0.0.1:1"),
        (("--url", NOWHERE, "--key", "k", "--only", "all"), "there is no group 'all'"),
        (("--url", NOWHERE, "--key", "k", "--hooks-port", "8099"), "go together"),
        (("--url", NOWHERE, "--key", "k", "--hooks-url", "https://a.b"), "go together"),
        (
            ("--url", NOWHERE, "--key", "k", "--hooks-url", "a.b", "--hooks-port", "8099"),
            "--hooks-url must be",
        ),
        (("--timeout", "0"), "--timeout"),
        (("--unknown",), "No such option"),
    ],
)
def test_a_run_that_cannot_begin_says_why(arguments: tuple[str, ...], reported: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert reported in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_without_its_distribution_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentpost.extras.missing", lambda extra: [f"agentpost_{extra}"])
    result = run("--list")
    assert (result.exit_code, result.stdout) == (2, "")
    text = " ".join(result.stderr.split())
    assert "are not installed (agentpost_verify)" in text
    assert "pip install 'agentpost[verify]'" in text


def test_checks_that_cannot_be_run_are_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest, "main", lambda *_: pytest.ExitCode.INTERNAL_ERROR)
    result = run("--list")
    assert result.exit_code == 1
    assert "could not be run" in str(result.exception)


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("", 0)) as taken:
        port = str(taken.getsockname()[1])
        hooks = ("--hooks-url", "https://hooks.example.com", "--hooks-port", port)
        result = run("--url", NOWHERE, "--key", "k", *hooks)
    assert result.exit_code == 2
    assert f"cannot listen on port {port}" in result.stderr


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--key", "svc_key_wrong"), "the key is refused"),
        (("--key", KEY, "--second-key", "svc_key_wrong"), "the second key is refused"),
    ],
)
def test_a_refused_key_is_said(
    plain_server: AgentServer, options: tuple[str, ...], reported: str
) -> None:
    result = run("--url", plain_server.url, *options)
    assert result.exit_code == 2
    assert reported in result.stderr


def test_an_address_of_another_api_is_named(plain_server: AgentServer) -> None:
    result = run("--url", f"{plain_server.url}/docs", "--key", KEY)
    assert result.exit_code == 2
    assert "is not this API: it answers 404" in result.stderr


def test_a_server_that_goes_away_is_no_success(plain_server: AgentServer) -> None:
    with bent(plain_server.url, Mutation()) as proxy:
        proxy.answers = 3
        result = run("--url", proxy.url, "--key", KEY, "--only", "authentication", "--json")
    assert result.exit_code == 2
    assert f"nothing answers at {proxy.url}" in result.stderr
    reported = json.loads(result.stdout)
    assert (reported["proved"], reported["not_checked"]) == (2, 4)


@dataclass(frozen=True)
class Press:
    """When the signal comes: as that request is asked, or as it has been carried out."""

    method: str
    path: str = "/v1/webhooks"
    answered: bool = False
    how: signal.Signals = signal.SIGINT


PRESSES = {
    "while it waits": Press("PATCH"),
    "before it knows what it made": Press("POST", answered=True),
    "while it takes away": Press("DELETE"),
    "cancelled": Press("PATCH", how=signal.SIGTERM),
}


@pytest.mark.parametrize("press", PRESSES.values(), ids=PRESSES)
def test_an_interrupted_run_takes_away_what_it_made(
    press: Press, plain_server: AgentServer, tmp_path: Path
) -> None:
    process: forking.Process | None = None
    pressed = threading.Event()

    def look(asked: ProxiedRequest, answered: bool) -> None:
        meant = asked.method == press.method and asked.path.startswith(press.path)
        if meant and answered == press.answered and not pressed.is_set() and process is not None:
            pressed.set()
            process.send_signal(press.how)
            threading.Event().wait(1)  # so that it comes while the answer is waited for

    def before(asked: ProxiedRequest) -> None:
        look(asked, False)

    def after(asked: ProxiedRequest, given: ProxiedResponse) -> None:
        look(asked, given.status == 201)

    with bent(plain_server.url, Mutation(before, after)) as proxy:
        command = ["verify", "--only", "webhooks", "--json", "--url", proxy.url, "--key", KEY]
        with TemporaryFile() as output, TemporaryFile() as errors:
            process = forking.start(
                command, env=os.environ, cwd=tmp_path, output=output, errors=errors
            )
            assert process.wait(60) == 130
            output.seek(0)
            reported = output.read()
    assert pressed.is_set()
    assert json.loads(reported)["left_behind"] == []
    listed = httpx2.get(
        f"{plain_server.url}/v1/webhooks", headers={"Authorization": f"Bearer {KEY}"}
    )
    assert listed.json()["data"] == []


def test_the_list_names_every_check_and_sends_nothing() -> None:
    result = run("--list", "--only", "reading", "--only", "document")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "reading · reading and waiting · sends: greeting"
    assert "  unknown: An unknown message is not_found. (getMessage)" in lines
    shown = json.loads(run("--list", "--json").stdout)
    assert len(shown) == len(list_checks(GROUPS)) > 100
    assert len({(each["group"], each["name"]) for each in shown}) == len(shown)
