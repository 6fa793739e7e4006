"""Large files: announced, posted, completed, attached (spec: Upload; Upload states)."""

from datetime import datetime
from email.utils import parsedate_to_datetime

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import CSV, GREETING, PROGRAM, one_answer

POST = "POST /v1/uploads"
FILENAME = "verify.csv"
SIZE = len(CSV)
UPLOAD_BYTES_MAX = 500 * 2**20
POST_MINUTES = 15
POST_MINUTES_SLACK = 2
"""Clocks differ, and answers take their time."""


# --- steps ----------------------------------------------------------------------------------------
def announce(probe: Probe, filename: str = FILENAME, size: int = SIZE) -> Exchange:
    """`POST /v1/uploads`; an upload that is never attached is deleted after a day."""
    return probe.call("POST", "/v1/uploads", body={"filename": filename, "size": size})


@pytest.fixture
def fresh(probe: Probe) -> Json:
    """A new upload, nothing posted yet."""
    return announce(probe).sample(201)


def post(probe: Probe, upload: Json, data: bytes = CSV, /, **fields: str | None) -> Exchange:
    """Post the form, with other fields where there are any; None leaves a field out."""
    form = {**upload["fields"], **fields}
    form = {name: value for name, value in form.items() if value is not None}
    return probe.post_form(upload["url"], form, data)


def complete(probe: Probe, upload: Json) -> Exchange:
    """`POST /v1/uploads/{id}/complete`."""
    return probe.call("POST", f"/v1/uploads/{upload['upload_id']}/complete")


def attach(probe: Probe, upload: Json) -> Exchange:
    """Send a message with that upload."""
    return probe.post({"message": GREETING, "upload_ids": [upload["upload_id"]]})


@pytest.fixture(scope="session")
def upload(probe: Probe) -> Json:
    """The announcement of the upload several checks look at, its file posted."""
    upload = announce(probe).sample(201)
    post(probe, upload)
    return upload


@pytest.fixture(scope="session")
def completion(probe: Probe, upload: Json) -> Exchange:
    """The answer that completed that upload."""
    return complete(probe, upload)


@pytest.fixture(scope="session")
def attachment(probe: Probe, completion: Exchange) -> Exchange:
    """The answer to a message with that upload. Checks that need it as it was come before this."""
    return probe.send(GREETING, upload_ids=[completion.sample()["upload_id"]])


# --- announcing -----------------------------------------------------------------------------------
def test_created(probe: Probe) -> None:
    """A new upload tells where to post and with which fields. (Upload)"""
    upload = announce(probe).expect("201", shape=shapes.UPLOAD_CREATED)
    assert upload["max_bytes"] == SIZE, f"max_bytes {SIZE}, as declared"
    names = [name.lower() for name in upload["fields"]]
    assert "content-type" in names, "a form field Content-Type"


def test_fifteen_minutes(probe: Probe) -> None:
    """The file may be posted for 15 minutes. (Limits)

    By the server's own Date header: our clock may be wrong.
    """
    exchange = announce(probe)
    until = datetime.fromisoformat(str(exchange.sample(201).get("expires_at")))
    if "date" not in exchange.headers:
        pytest.skip("the answer has no Date")
    now = parsedate_to_datetime(exchange.headers["date"])
    minutes = (until - now).total_seconds() / 60
    is_right = abs(minutes - POST_MINUTES) <= POST_MINUTES_SLACK
    assert is_right, f"{POST_MINUTES} minutes to post the file, not {minutes:.1f}"


test_bad_size = one_answer(
    "A size that is no positive whole number is bad_size. (Errors)",
    "400 bad_size",
    *((POST, {"filename": FILENAME, "size": size}) for size in (None, 0, -1, 1.5, "5", True)),
)
test_too_large = one_answer(
    "Over 500 MB is too_large. (Limits)",
    "413 too_large", (POST, {"filename": FILENAME, "size": UPLOAD_BYTES_MAX + 1}),
)  # fmt: skip
test_filename_needed = one_answer(
    "An upload needs a file name. (createUpload)",
    "400 invalid_request", (POST, {"size": 1}, "filename"),
)  # fmt: skip


# --- posting --------------------------------------------------------------------------------------
test_nothing_arrived = one_answer(
    "Completing before the file arrived is not_uploaded. (Errors)",
    "409 not_uploaded", "POST /v1/uploads/{fresh[upload_id]}/complete",
)  # fmt: skip


def test_accepted(probe: Probe, fresh: Json) -> None:
    """The form with the file last is taken. (Upload procedure)"""
    exchange = post(probe, fresh)
    assert exchange.status in range(200, 300), f"the file to be taken (2xx), not {exchange.outcome}"


def test_tampered(probe: Probe, fresh: Json) -> None:
    """A form with any field altered is refused. (Upload procedure)"""
    for name, value in fresh["fields"].items():
        middle = len(value) // 2
        before, rest = value[:middle], value[middle:]
        forgery = f"{before}{'B' if rest.startswith('A') else 'A'}{rest[1:]}"
        post(probe, fresh, **{name: forgery}).expect_refusal(f"a form with another {name}")


def test_every_field(probe: Probe, fresh: Json) -> None:
    """A form without one of its fields is refused. (Upload procedure)"""
    for name in fresh["fields"]:
        post(probe, fresh, **{name: None}).expect_refusal(f"a form with no {name}")


def test_over_size(probe: Probe, fresh: Json) -> None:
    """A file larger than declared is refused. (createUpload)"""
    post(probe, fresh, CSV + b"x").expect_refusal("a form with a byte more than declared")


# --- completing and attaching ---------------------------------------------------------------------
def test_completed(completion: Exchange) -> None:
    """A complete upload is ready and has every field. (completeUpload)"""
    upload = completion.expect("200", shape=shapes.UPLOAD)
    file = (upload["filename"], upload["size"])
    assert file == (FILENAME, SIZE), f"{FILENAME} of {SIZE} bytes"


def test_completed_twice(probe: Probe, upload: Json, completion: Exchange) -> None:
    """Completing again gives the same answer. (Upload states)"""
    first = completion.sample()
    assert complete(probe, upload).expect("200") == first, "the same answer"


def test_program(probe: Probe) -> None:
    """A program is refused when its upload is completed. (completeUpload)"""
    upload = announce(probe, "verify.bin", len(PROGRAM)).sample(201)
    post(probe, upload, PROGRAM)
    complete(probe, upload).expect("422 executable_refused")


test_unknown = one_answer(
    "An unknown upload is not_found. (completeUpload)",
    "404 not_found", "POST /v1/uploads/up_{nonce}/complete",
)  # fmt: skip


def test_not_ready(probe: Probe, fresh: Json) -> None:
    """A message cannot name an upload that is not complete. (Errors)"""
    attach(probe, fresh).expect("409 upload_not_ready")


test_attached = one_answer(
    "A message takes a complete upload. (createMessage)", "201", "{attachment}"
)


def test_attached_once(probe: Probe, upload: Json, attachment: Exchange) -> None:
    """An upload belongs to one message and is not completed again. (Upload states)"""
    attachment.sample(201)
    attach(probe, upload).expect("409 upload_not_ready")
    complete(probe, upload).expect("409 not_pending")
