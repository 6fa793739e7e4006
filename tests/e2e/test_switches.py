"""What an operator changes beside a running server: the API is switched off (spec: Errors
unavailable), and SIGHUP makes it read its settings again."""

import signal
import time
from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually

SETTINGS: dict[str, object] = {}


def is_off(caller: Caller) -> bool:
    return caller.http.get("/v1/me").status_code == 503


@pytest.mark.rule("Errors unavailable")
def test_the_api_is_off_while_work_goes_on(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller]
) -> None:
    message = caller.send([["start", "w", [["gate", "m"], ["return", "done meanwhile"]]]])

    server.command("maintenance", "on")
    began = time.monotonic()
    eventually(lambda: is_off(caller))
    assert time.monotonic() - began < PROMPT
    answer = caller.http.get("/v1/nowhere")
    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    assert "RateLimit-Remaining" in answer.headers
    assert callers(server, "svc_key_wrong").http.get("/v1/me").status_code == 401
    for path in ("/healthz", "/readyz", "/openapi.json", "/docs/errors"):
        assert caller.http.get(path).status_code == 200, path

    server.open_gate("m")
    assert server.stop() == 0
    server.start()
    assert is_off(caller), "it survives a restart, from the first request on"

    server.command("maintenance", "off")
    eventually(lambda: not is_off(caller))
    done = caller.final(message["id"])
    assert (done["jobs"][0]["status"], done["jobs"][0]["text"]) == ("completed", "done meanwhile")


def test_what_can_change_does_and_a_bad_file_changes_nothing(
    server: AgentServer, caller: Caller
) -> None:
    file = server.home / "agentpost.toml"

    def reload(text: str, event: str) -> str:
        """The line of the log that the file led to."""
        seen = server.log_file.stat().st_size
        file.write_text(text)
        server.send_signal(signal.SIGHUP)

        def found() -> str:
            return next((line for line in server.log_lines(seen) if event in line), "")

        return eventually(found, what=event)

    line = reload("schedules_max = 7\nlog_level = 'debug'", "settings_reloaded")
    assert '"schedules_max": 7' in line
    needed = reload("schedules_max = 7\nagent_memory_bytes = 5", "settings_need_restart")
    assert "agent_memory_bytes" in needed
    assert "schedules_max" in reload("schedules_max = 'many'", "settings_not_reloaded")
    assert "no setting schedule_max" in reload("schedule_max = 7", "settings_not_reloaded")
    assert '"changed": {"schedules_max": 8}' in reload("schedules_max = 8", "settings_reloaded")
    assert caller.send("still there?")["reply"] == "You said: still there?"
