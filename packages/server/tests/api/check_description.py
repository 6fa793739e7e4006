"""What takes minutes of the requests made from the description: values at random, right and wrong
ones, and walks along the links, on which a deleted thing is gone. `make fuzz` runs it."""

import json
import re
from pathlib import Path

from tests.api.test_schemathesis import try_requests
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

EXAMPLES = 10
LINKS_MIN = 10
WORKS = 30


def test_values_at_random(start_server: ServerMaker, tmp_path: Path) -> None:
    # Making them takes long on a busy machine, which is no fault.
    options = (f"--max-examples={EXAMPLES}", "--suppress-health-check=too_slow")
    try_requests(start_server(), tmp_path, "Fuzzing", options=options)


def test_its_links_lead_on(start_server: ServerMaker, tmp_path: Path) -> None:
    """On a server of its own: where ten webhook endpoints are left, no walk begins with one."""
    server = start_server()
    give_it_works(server)
    output = try_requests(server, tmp_path, "Stateful")
    links = re.search(r"API Links: +([0-9]+) covered", output)
    assert links is not None
    assert int(links[1]) >= LINKS_MIN, f"few links lead on\n{output}"


def give_it_works(server: AgentServer) -> None:
    """Works with a file, more than the walks delete: a message at random starts none."""
    script = [["start", "Report", [["write", "report.txt", "All is well."], ["return", "Done"]]]]
    caller = Caller(server)
    for _ in range(WORKS):
        sent = caller.call("POST", "/v1/messages", json={"message": json.dumps(script)})
        assert sent.status_code == 201, sent.text
    caller.close()
