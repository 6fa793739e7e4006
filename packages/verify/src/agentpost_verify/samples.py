"""What many checks look at, as fixtures of the whole run: few messages serve many checks. And the
form of a check that looks at one answer for each of its requests.

Only the check that a sample belongs to judges how it was made; for the others, a missing sample is
a reason not to be checked.
"""

import base64
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import pytest

from agentpost_verify.answers import NOT_PROVED, Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.receiver import Receiver
from agentpost_verify.shapes import Shape

GREETING: Final = "Hello"
LONG_TEXT: Final = f"{GREETING}. ".ljust(20_000, ".")
"""As many characters as a message may have."""
LONG_NAME: Final = "long-".ljust(135, "x")
"""Makes an Idempotency-Key of more than the 128 characters that count."""
CSV: Final = b"month,revenue\nJan,10\nFeb,14\nMar,12\nApr,19\n"
DOWNLOAD_BYTES_MAX: Final = 50 * 2**20
PROGRAM: Final = b"\x7fELF\x02\x01\x01" + bytes(57)
"""The beginning of a Linux program, and as harmless as 64 bytes can be."""
WAIT_SECONDS_MAX: Final = 45
"""The longest wait a caller may ask for (spec: Limits)."""
PAGES_MAX: Final = 50
JOB_PATH: Final = "job"
"""Where our receiver gets the events of the job."""

PROBE: Final = pytest.StashKey[Probe | None]()
"""Where the configuration has the run that the checks belong to; None while they are listed."""
Log = tuple[list[Json], Exchange]
"""All entries of a message, and the answer that was the last page."""


@pytest.fixture(scope="session")
def probe(pytestconfig: pytest.Config) -> Probe | None:
    """The run that the checks belong to."""
    return pytestconfig.stash[PROBE]


@pytest.fixture(scope="session")
def second(probe: Probe) -> Probe:
    """The other key."""
    if probe.second is None:
        pytest.skip("it needs another key of this server: --second-key")
    return probe.second


@pytest.fixture(scope="session")
def hooks(probe: Probe) -> Receiver:
    """The receiver of webhooks."""
    if probe.hooks is None:
        pytest.skip(
            "it needs an address here that the deployment reaches: --hooks-url, --hooks-port"
        )
    return probe.hooks


@pytest.fixture(scope="session")
def greeting_sent(probe: Probe) -> Exchange:
    """The answer to the message most checks look at; it may be anything."""
    return probe.send(GREETING, probe.key_for("greeting"))


@pytest.fixture(scope="session")
def greeting_id(greeting_sent: Exchange) -> str:
    """The id of the message most checks look at."""
    return str(greeting_sent.sample(201)["id"])


@pytest.fixture(scope="session")
def greeting(probe: Probe, greeting_id: str) -> Json:
    """The message most checks look at, final."""
    return probe.final(greeting_id)


@pytest.fixture(scope="session")
def greeting_log(probe: Probe, greeting: Json) -> Log:
    """The log of that message."""
    return read_log(probe, greeting["id"])


def read_log(probe: Probe, message_id: str) -> Log:
    """The log of a final message."""
    entries: list[Json] = []
    cursor = None
    for _ in range(PAGES_MAX):
        exchange = page_at(probe, message_id, cursor)
        page = exchange.sample()
        entries += page.get("data") or []
        cursor = page.get("cursor")
        if page.get("done") is True or not page.get("has_more"):
            return entries, exchange
    pytest.skip(f"the log continues after {PAGES_MAX} pages")


def page_at(probe: Probe, message_id: str, cursor: object = None, wait: int = 0) -> Exchange:
    """A page of the log, whatever comes."""
    query = f"&cursor={quote(str(cursor), safe='')}" if cursor is not None else ""
    path = f"/v1/messages/{message_id}/events?wait={wait}{query}"
    return probe.call("GET", path, held_seconds=max(wait, 1))


@pytest.fixture(scope="session")
def long_sent(probe: Probe) -> Exchange:
    """The answer to the longest text allowed, sent with a key longer than counts."""
    return probe.send(LONG_TEXT, probe.key_for(LONG_NAME))


@pytest.fixture(scope="session")
def job_message(probe: Probe, request: pytest.FixtureRequest) -> Json:
    """A message the agent started a job for, as it was first answered. The job's events are sent
    to us alone, if webhooks are to be proved and can be."""
    fields: Json = {"files": [inline("sales.csv", CSV)]}
    if probe.hooks is not None:
        with suppress(*NOT_PROVED):
            fields["webhook_endpoint_id"] = request.getfixturevalue("job_endpoint")["id"]
    message = probe.send("Chart revenue by month", **fields).sample(201)
    if not message.get("jobs"):
        message = probe.final(message["id"])
    if not message.get("jobs"):
        pytest.skip("the agent started no job when asked for a chart of a CSV file")
    return message


@pytest.fixture(scope="session")
def job_endpoint(probe: Probe, hooks: Receiver) -> Json:
    """The endpoint that gets the job's events."""
    return probe.create_endpoint(JOB_PATH).sample(201)


@pytest.fixture(scope="session")
def job_done(probe: Probe, job_message: Json) -> Json:
    """The same message, final."""
    return probe.final(job_message["id"])


@pytest.fixture(scope="session")
def agent_file(job_done: Json) -> Json:
    """A file the agent made."""
    files: list[Json] = job_done.get("files") or []
    if not files:
        pytest.skip("the agent made no file")
    smallest = min(files, key=lambda file: int(file["size"]))
    if smallest["size"] > DOWNLOAD_BYTES_MAX:
        pytest.skip("the files the agent made are too large to be fetched for a check")
    return smallest


@pytest.fixture(scope="session")
def endpoint_sent(probe: Probe) -> Exchange:
    """The answer that created the endpoint most checks look at."""
    return probe.create_endpoint("first")


@pytest.fixture(scope="session")
def endpoint(endpoint_sent: Exchange) -> Json:
    """The endpoint most checks look at, as it was created."""
    return endpoint_sent.sample(201)


def inline(name: str, data: bytes) -> Json:
    """A file inside a message (spec: InlineFile)."""
    return {"name": name, "base64": base64.b64encode(data).decode()}


def one_answer(
    rule: str, outcome: str, *requests: Any, shape: Shape | None = None, **options: Any
) -> Callable[..., None]:
    """A check: each request is answered with the outcome, and with a resource of that shape.

    A request is its method and path, or a tuple: those, its body and the field that the answer must
    name as the problem. ``{nonce}`` in a path is the probe's, ``{name}`` the sample of that name;
    alone, a sample that is the answer. ``options`` are those of `Probe.call`.
    """
    rows = [each if isinstance(each, tuple) else (each,) for each in requests]
    samples = {name for row in rows for name in re.findall(r"{(\w+)", row[0])} - {"nonce"}

    @pytest.mark.usefixtures("probe", *samples)
    def check(probe: Probe, request: pytest.FixtureRequest) -> None:
        values = {name: request.getfixturevalue(name) for name in samples}
        for row in rows:
            route, body, field = (*row, None, None)[:3]
            exchange = values.get(route.strip("{}"))
            if exchange is None:
                method, path = route.format(nonce=probe.nonce, **values).split(" ")
                exchange = probe.call(method, path, body=body, **options)
            exchange.expect(outcome, shape=shape, problem=field or "")

    check.__doc__ = rule
    return check
