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
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.tracing import KEY, Recorder, serve


def post(connection: http.client.HTTPConnection, text: str) -> None:
    """Send one message and read its answer."""
    body = json.dumps({"message": text, "conversation": text}).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/messages", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 201, content


def measure(calls: int) -> list[list[str]]:
    """The functions passed by each of so many calls."""
    recorder, results = Recorder(), list[list[str]]()

    def play(port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in range(calls + 2):
            recorder.is_on = number > 1  # the first ones fill caches
            post(connection, "job")
            recorder.is_on = False
            if number > 1:
                results.append(recorder.take())
            time.sleep(0.05)  # the job ends

    with tempfile.TemporaryDirectory() as name:
        agent = "benchmarks.agent:agent"
        serve(Path(name), recorder, play, agent=agent, running_jobs_max=1_000)
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
