"""SIGHUP makes a running server read its settings again."""

import signal

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.waiting import eventually


def test_what_can_change_does_and_a_bad_file_changes_nothing(start_server: ServerMaker) -> None:
    server = start_server()
    file = server.home / "agentpost.toml"
    caller = Caller(server)

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
    assert "agent_memory_bytes" in reload(
        "schedules_max = 7\nagent_memory_bytes = 5", "settings_need_restart"
    )
    assert "schedules_max" in reload("schedules_max = 'many'", "settings_not_reloaded")
    assert "no setting schedule_max" in reload("schedule_max = 7", "settings_not_reloaded")
    assert '"changed": {"schedules_max": 8}' in reload("schedules_max = 8", "settings_reloaded")
    assert caller.send("still there?")["reply"] == "You said: still there?"
