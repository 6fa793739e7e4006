"""`agentpost limits` and `explain`, without a server."""

import subprocess

import pytest

from tests import forking
from tests.e2e.caller import Caller
from tests.e2e.server import ACCOUNT, AgentServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> AgentServer:
    """A data folder with an account and one message; its server has stopped."""
    server = AgentServer(tmp_path_factory.mktemp("home"))
    server.start()
    caller = Caller(server)
    script = [["start", "w", [["progress", "half"], ["return", "done"]]]]
    message = caller.send(script, files=[{"base64": "YWJj"}])
    caller.final(message["id"])
    (server.home / "message").write_text(message["id"])
    caller.close()
    server.stop()
    return server


def run(server: AgentServer, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return forking.run(arguments, env=server._environment(), cwd=server.home)


def test_limits_are_set_shown_and_taken_back(server: AgentServer) -> None:
    found = server.command("limits", "set", ACCOUNT, "--messages-per-hour", "7")
    assert (found["limits"]["messages_per_hour"], found["overridden"]) == (7, ["messages_per_hour"])
    found = server.command("limits", "set", ACCOUNT, "--running-jobs=2")
    assert found["overridden"] == ["messages_per_hour", "running_jobs"]
    found = server.command("limits", "set", ACCOUNT, "--messages-per-hour", "default")
    assert found["overridden"] == ["running_jobs"]
    assert server.command("limits", "show", ACCOUNT) == found
    text = run(server, "limits", "show", ACCOUNT).stdout
    assert "running_jobs = 2  (set for this account)" in text.splitlines()
    assert "stored_bytes = 107374182400" in text.splitlines()


@pytest.mark.parametrize("most", [0, 5, 999_999_999_999_999])
def test_how_much_an_account_may_store_is_a_number_of_bytes(server: AgentServer, most: int) -> None:
    found = server.command("limits", "set", ACCOUNT, f"--stored-bytes={most}")
    assert (found["limits"]["stored_bytes"], found["stored_bytes_now"]) == (most, 3)
    server.command("limits", "set", ACCOUNT, "--stored-bytes", "default")


def test_the_bytes_of_an_account_are_counted_again(server: AgentServer) -> None:
    server.execute("UPDATE account_storage SET bytes = 1000")
    assert run(server, "limits", "recount", ACCOUNT).stdout == f"{ACCOUNT}: 3 bytes are stored\n"
    assert server.command("limits", "show", ACCOUNT)["stored_bytes_now"] == 3
    assert run(server, "limits", "recount", "nobody@example.com").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("set", ACCOUNT, "--waits-per-hour", "0"), 2),
        (("set", ACCOUNT, "--waits-per-hour", "-5"), 2),
        (("set", ACCOUNT, "--waits-per-hour", "many"), 2),
        (("set", ACCOUNT, "--stored-bytes", "-1"), 2),
        (("set", ACCOUNT, "--stored-bytes", "1" * 16), 2),
        (("set", ACCOUNT, "--running-jobs", "1" * 10), 2),
        (("set", ACCOUNT), 2),
        (("set", "nobody@example.com", "--waits-per-hour", "5"), 1),
        (("show", "nobody@example.com"), 1),
    ],
)
def test_wrong_limits_are_refused_in_one_line(
    server: AgentServer, arguments: tuple[str, ...], code: int
) -> None:
    done = run(server, "limits", *arguments)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stderr


def test_explain_tells_what_happened_in_order(server: AgentServer) -> None:
    message_id = (server.home / "message").read_text()
    reported = server.command("explain", message_id)
    assert reported["message"]["status"] == "completed"
    signals = [line["what"] for line in reported["story"] if line["source"] == "signal"]
    assert signals[0] == "TurnBegun"
    for name in ("Admitted", "TurnReplied", "Progressed", "Finished"):
        assert name in signals
    entries = [line["what"] for line in reported["story"] if line["source"] == "entry"]
    assert sorted(entries) == ["agent_reply", "progress", "result"]
    assert [line["at"] for line in reported["story"]] == sorted(
        line["at"] for line in reported["story"]
    )

    text = run(server, "explain", message_id).stdout
    assert message_id in text
    assert "Progressed" in text
    assert run(server, "explain", "msg_none").returncode == 1
