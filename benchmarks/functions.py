"""Which functions of agentpost one `POST /v1/messages` passes, from its first byte to its answer.

    python benchmarks/functions.py             # how many, and in how many files
    python benchmarks/functions.py --list      # each of them, by file

The server runs in this process, with SQLite and `benchmarks.agent`, and is called by HTTP. The
message starts a job, so the figure holds the turn and the start of the job as well. What runs at
the same time by chance differs from call to call: a function counts when at least half of the calls
have passed it. Lambdas count; comprehensions do not.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "/src/agentpost/"
KEY: Final = "svc_key_" + "f" * 40
READY_SECONDS: Final = 60
COMPREHENSIONS: Final = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


class Recorder:
    """Notes every function that any thread of the server enters while `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self.codes: set[CodeType] = set()

    def install(self) -> None:
        """Watch this thread and those that begin later."""
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)

    def _enter(self, frame: FrameType, event: str, _argument: Any) -> None:
        if self.is_on and event == "call":
            self.codes.add(frame.f_code)

    def take(self) -> set[str]:
        """What was passed since the last call, as ``file:function``."""
        codes, self.codes = self.codes, set()
        return {
            f"{code.co_filename.rpartition(PACKAGE)[2]}:{code.co_qualname}"
            for code in codes
            if PACKAGE in code.co_filename and code.co_name not in COMPREHENSIONS
        }


def post(connection: http.client.HTTPConnection, text: str) -> None:
    """Send one message and read its answer."""
    body = json.dumps({"message": text, "conversation": text}).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/messages", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 201, content


def client(folder: Path, recorder: Recorder, calls: int, results: list[set[str]]) -> None:
    """Wait for the server, send the messages, and end it."""
    sys.setprofile(None)  # the client is not a part of the server
    try:
        until = time.monotonic() + READY_SECONDS
        while not (port := _port(folder)) and time.monotonic() < until:
            time.sleep(0.05)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in range(calls):
            recorder.is_on = number > 1  # the first ones fill caches
            post(connection, "job")
            recorder.is_on = False
            if number > 1:
                results.append(recorder.take())
            time.sleep(0.05)  # the job ends
    finally:
        os.kill(os.getpid(), signal.SIGINT)


def _port(folder: Path) -> int:
    """Where the server of this process listens; 0: not yet."""
    place = folder / "port"
    return int(place.read_text()) if place.exists() else 0


class Companion:
    """Tells the client the port as soon as the server listens; see `agentpost.serving.process`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def greeting(self, _server: Any, settings: Any) -> str:
        """Called with the settings when the server is ready."""
        (self._folder / "port").write_text(str(settings.port))
        return ""

    async def attend(self, _server: Any) -> None:
        """There is nothing to do beside the server."""


def measure(calls: int) -> list[set[str]]:
    """The functions passed by each of so many calls."""
    recorder, results = Recorder(), list[set[str]]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["AGENTPOST_BOOTSTRAP_API_KEY"] = KEY
        os.environ["AGENTPOST_LOG_LEVEL"] = "error"
        sources = (ROOT / "packages" / name / "src" for name in ("server", "agents"))
        sys.path[:0] = [str(ROOT), *map(str, sources)]
        from agentpost.serving import process

        arguments = (folder, recorder, calls + 2, results)
        threading.Thread(target=client, args=arguments, daemon=True).start()
        recorder.install()
        given = {"port": 0, "agent": "benchmarks.agent:agent", "data_dir": str(folder / "data")}
        process.run(given | {"running_jobs_max": 1_000}, Companion(folder))
        sys.setprofile(None)
    return results


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="each function, by file")
    options = parser.parse_args()
    results = measure(options.calls)
    counts = Counter(function for result in results for function in result)
    passed = sorted(name for name, count in counts.items() if count * 2 >= len(results))
    files = {name.partition(":")[0] for name in passed}
    each = statistics.median(len(result) for result in results)
    if options.list:
        print("\n".join(passed))
    print(
        f"{len(passed)} functions in {len(files)} files; median of {len(results)} calls: {each:g}"
    )


if __name__ == "__main__":
    main()
