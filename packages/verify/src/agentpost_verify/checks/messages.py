"""Sending messages (spec: createMessage)."""

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, problem_fields
from agentpost_verify.probe import Probe
from agentpost_verify.samples import GREETING, PROGRAM, WAIT_SECONDS_MAX, inline, one_answer

INVALID = "400 invalid_request"
PROGRAM_NAME = "verify-program"
UNREACHABLE_NAME = "verify-unreachable.csv"
FILES_MAX = 5
"""A message has so many files at the most; further ones are noted."""


test_created = one_answer(
    "A new message is 201 and has every field. (Message)",
    "201", "{greeting_sent}", shape=shapes.MESSAGE,
)  # fmt: skip


def test_at_once(probe: Probe) -> None:
    """With wait=0 a message is answered before its turn has ended. (Additions wait-1)

    The answer has no reply, however fast the agent is; the message gets it afterwards.
    """
    refusal = probe.send(GREETING, query=f"?wait={WAIT_SECONDS_MAX + 1}")
    if refusal.status == 201:
        pytest.skip("this deployment knows no wait of a POST, which agentpost adds to the API")
    refusal.expect("400 invalid_request", problem="wait")
    message = probe.send(GREETING, query="?wait=0").expect("201", shape=shapes.MESSAGE)
    state = (message.get("status"), message.get("final"))
    assert state == ("processing", False), "processing, not final"
    probe.final(message["id"])


def post(**fields: object) -> tuple[str, object]:
    """A request that sends a message, with fields that must not be taken."""
    return "POST /v1/messages", fields


test_empty = one_answer(
    "Nothing to say, no files, no uploads: empty_message. (Errors)",
    "400 empty_message", post(), post(message=None), post(message=""), post(files=[]),
)  # fmt: skip
# A body of nothing but unknown fields is empty, not invalid: no message is needed.
test_unknown_fields = one_answer(
    "Unknown fields of a request are ignored. (Versioning 2)",
    "400 empty_message", post(verify_unknown={"a": [1]}),
)  # fmt: skip
test_longest = one_answer("A text of 20,000 characters is taken. (Limits)", "201", "{long_sent}")
test_too_long = one_answer(
    "One character more is too_long. (Limits)", "400 too_long", post(message="." * 20_001)
)
test_strict_types = one_answer(
    "A wrong type is invalid_request and names its field. (Errors)",
    INVALID,
    (*post(message=5), "message"),
    (*post(message=GREETING, files="a.csv"), "files"),
    (*post(message=GREETING, files=[{"name": 7, "base64": ""}]), "files.0.name"),
    (*post(message=GREETING, upload_ids=[1]), "upload_ids.0"),
)
test_file_without_content = one_answer(
    "An inline file needs a url or base64. (InlineFile)",
    INVALID, (*post(message=GREETING, files=[{"name": "a.csv"}]), "files.0"),
)  # fmt: skip


def test_at_most_ten_problems(probe: Probe) -> None:
    """Several problems are reported at once, ten at most. (Errors)"""
    files = [{"name": number, "base64": "", "url": 1} for number in range(12)]
    exchange = probe.post({"message": GREETING, "files": files})
    count = len(problem_fields(exchange.expect(INVALID)))
    assert 2 <= count <= 10, f"2 to 10 problems, not {count}"


test_too_many_uploads = one_answer(
    "Eleven uploads are too_many. (Limits)",
    "400 too_many", post(message=GREETING, upload_ids=[f"up_verify{n}" for n in range(11)]),
)  # fmt: skip
test_unknown_upload = one_answer(
    "An upload that is not there is upload_not_ready. (Errors)",
    "409 upload_not_ready", post(message=GREETING, upload_ids=["up_unknown"]),
)  # fmt: skip
test_unknown_endpoint = one_answer(
    "An endpoint that is not there is not_found. (createMessage)",
    "404 not_found", post(message=GREETING, webhook_endpoint_id="whe_unknown"),
)  # fmt: skip


@pytest.fixture(scope="session")
def odd_files_sent(probe: Probe) -> Exchange:
    """More files than are taken, and among those taken some that cannot be."""
    address = f"https://agentpost-verify-{probe.nonce}.invalid/a.csv"
    files = [inline(f"verify-{number}.txt", b"nothing\n") for number in range(FILES_MAX - 1)]
    odd = [inline(PROGRAM_NAME, PROGRAM), {"name": UNREACHABLE_NAME, "url": address}]
    return probe.send(GREETING, files=odd + files)


@pytest.fixture(scope="session")
def notes(probe: Probe, odd_files_sent: Exchange) -> str:
    """The notes of that message."""
    message = probe.final(odd_files_sent.sample(201)["id"])
    return "\n".join(map(str, message.get("notes") or []))


test_odd_files = one_answer(
    "Files that cannot be taken, and a sixth, don't fail the message. (createMessage 4)",
    "201", "{odd_files_sent}",
)  # fmt: skip


def test_program_noted(notes: str) -> None:
    """A program among the files is skipped and noted. (createMessage 4)"""
    assert PROGRAM_NAME in notes, f"a note that names {PROGRAM_NAME}"


def test_unreachable_noted(notes: str) -> None:
    """A file that cannot be fetched is noted. (createMessage 4)"""
    assert UNREACHABLE_NAME in notes, f"a note that names {UNREACHABLE_NAME}"
