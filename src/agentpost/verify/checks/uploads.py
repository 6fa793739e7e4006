"""Large files: announced, posted, completed, attached (spec: Upload; Upload states)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agentpost.domain.limits import UPLOAD_BYTES_MAX
from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import CSV, GREETING, PROGRAM, Probe, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    differs,
    expect_status,
    names_field,
    refused,
    require,
    summary,
)

FILENAME = "verify.csv"
SIZE = len(CSV)
POST_MINUTES = 15
POST_MINUTES_SLACK = 2
"""Clocks differ, and answers take their time."""


# --- steps ----------------------------------------------------------------------------------------
def announce(probe: Probe, filename: str = FILENAME, size: Any = SIZE) -> Exchange:
    """`POST /v1/uploads`; what nobody attaches is deleted after a day."""
    body = {"filename": filename, "size": size}
    return probe.caller.call("POST", "/v1/uploads", body=body)


def announced(probe: Probe, filename: str = FILENAME, size: int = SIZE) -> Json:
    """A fresh upload, nothing posted yet."""
    return usable(announce(probe, filename, size), 201)


def post(
    probe: Probe, made: Json, data: bytes, fields: Mapping[str, str] | None = None
) -> Exchange:
    """Post the form, with other fields if given."""
    return probe.caller.post_form(made["url"], made["fields"] if fields is None else fields, data)


def complete(probe: Probe, made: Json) -> Exchange:
    """`POST /v1/uploads/{id}/complete`."""
    return probe.caller.call("POST", f"/v1/uploads/{made['upload_id']}/complete")


def ready_upload(probe: Probe) -> Exchange:
    """The answer that completed the upload several checks look at."""

    def make() -> Exchange:
        post(probe, posted(probe), CSV)
        return complete(probe, posted(probe))

    return probe.sample("completed upload", make)


def posted(probe: Probe) -> Json:
    """The announcement of that upload."""
    return probe.sample("upload", lambda: announced(probe))


# --- announcing -----------------------------------------------------------------------------------
def created(probe: Probe) -> None:
    exchange = announce(probe)
    made = expect_status(exchange, 201)
    shaped(exchange, shapes.UPLOAD_CREATED, made)
    size = made["max_bytes"]
    require(exchange, size == SIZE, f"max_bytes {SIZE}, as declared", size)
    names = {name.lower() for name in made["fields"]}
    require(exchange, "content-type" in names, "a form field Content-Type", sorted(names))


def fifteen_minutes(probe: Probe) -> None:
    """By the server's own Date header: our clock may be wrong."""
    exchange = announce(probe)
    until = datetime.fromisoformat(str(usable(exchange, 201).get("expires_at")))
    if "date" not in exchange.headers:
        raise NotChecked("the answer has no Date")
    now = parsedate_to_datetime(exchange.headers["date"])
    minutes = (until - now).total_seconds() / 60
    right = abs(minutes - POST_MINUTES) <= POST_MINUTES_SLACK
    require(exchange, right, f"{POST_MINUTES} minutes to post the file", f"{minutes:.1f}")


def bad_size(probe: Probe) -> None:
    for size in (None, 0, -1, 1.5, "5", True):
        refused(announce(probe, size=size), 400, "bad_size")


def too_large(probe: Probe) -> None:
    refused(announce(probe, size=UPLOAD_BYTES_MAX + 1), 413, "too_large")


def filename_needed(probe: Probe) -> None:
    exchange = probe.caller.call("POST", "/v1/uploads", body={"size": 1})
    names_field(exchange, "filename")


# --- posting --------------------------------------------------------------------------------------
def accepted(probe: Probe) -> None:
    exchange = post(probe, announced(probe), CSV)
    require(exchange, 200 <= exchange.status < 300, "the file to be taken (2xx)", summary(exchange))


def tampered(probe: Probe) -> None:
    made = announced(probe)
    for name, value in made["fields"].items():
        _turned_away(probe, made, {**made["fields"], name: _altered(value)}, CSV, f"another {name}")


def every_field(probe: Probe) -> None:
    made = announced(probe)
    for left_out in made["fields"]:
        fields = {name: value for name, value in made["fields"].items() if name != left_out}
        _turned_away(probe, made, fields, CSV, f"no {left_out}")


def over_size(probe: Probe) -> None:
    made = announced(probe)
    _turned_away(probe, made, made["fields"], CSV + b"x", "a byte more than declared")


def nothing_arrived(probe: Probe) -> None:
    refused(complete(probe, announced(probe)), 409, "not_uploaded")


def _turned_away(
    probe: Probe, made: Json, fields: Mapping[str, str], data: bytes, what: str
) -> None:
    exchange = post(probe, made, data, fields)
    if not 400 <= exchange.status < 500:
        differs(exchange, f"a form with {what} to be refused (4xx)", summary(exchange))


def _altered(value: str) -> str:
    """The same length, another character in the middle."""
    middle = len(value) // 2
    before, rest = value[:middle], value[middle:]
    return f"{before}{'B' if rest.startswith('A') else 'A'}{rest[1:]}"


# --- completing and attaching ---------------------------------------------------------------------
def completed(probe: Probe) -> None:
    exchange = ready_upload(probe)
    upload = expect_status(exchange, 200)
    shaped(exchange, shapes.UPLOAD, upload)
    reported = (upload["filename"], upload["size"])
    require(exchange, reported == (FILENAME, SIZE), f"{FILENAME} of {SIZE} bytes", reported)


def completed_twice(probe: Probe) -> None:
    first = usable(ready_upload(probe), 200)
    exchange = complete(probe, posted(probe))
    require(exchange, expect_status(exchange, 200) == first, "the same answer", exchange.json())


def program(probe: Probe) -> None:
    made = announced(probe, "verify.bin", len(PROGRAM))
    post(probe, made, PROGRAM)
    refused(complete(probe, made), 422, "executable_refused")


def unknown(probe: Probe) -> None:
    exchange = probe.caller.call("POST", f"/v1/uploads/up_{probe.nonce}/complete")
    refused(exchange, 404, "not_found")


def not_ready(probe: Probe) -> None:
    made = announced(probe)
    body = {"message": GREETING, "upload_ids": [made["upload_id"]]}
    refused(probe.post(body), 409, "upload_not_ready")


def attached(probe: Probe) -> None:
    expect_status(_attached(probe), 201)


def attached_once(probe: Probe) -> None:
    usable(_attached(probe), 201)
    body = {"message": GREETING, "upload_ids": [posted(probe)["upload_id"]]}
    refused(probe.post(body), 409, "upload_not_ready")
    refused(complete(probe, posted(probe)), 409, "not_pending")


def _attached(probe: Probe) -> Exchange:
    """Checks that need the upload as it was come before this."""

    def make() -> Exchange:
        upload_id = usable(ready_upload(probe), 200)["upload_id"]
        return probe.send(GREETING, upload_ids=[upload_id])

    return probe.sample("message with an upload", make)


GROUP = Group(
    "uploads",
    "large files on their way in",
    (
        Check("created", "A new upload tells where to post and with which fields.", "Upload",
              created),
        Check("fifteen-minutes", "The file may be posted for 15 minutes.", "Limits",
              fifteen_minutes),
        Check("bad-size", "A size that is no positive whole number is bad_size.", "Errors",
              bad_size),
        Check("too-large", "Over 500 MB is too_large.", "Limits", too_large),
        Check("filename-needed", "An upload needs a file name.", "createUpload",
              filename_needed),
        Check("nothing-arrived", "Completing before the file arrived is not_uploaded.", "Errors",
              nothing_arrived),
        Check("accepted", "The form with the file last is taken.", "Upload procedure", accepted),
        Check("tampered", "A form with any field altered is refused.", "Upload procedure",
              tampered),
        Check("every-field", "A form without one of its fields is refused.", "Upload procedure",
              every_field),
        Check("over-size", "A file larger than declared is refused.", "createUpload", over_size),
        Check("completed", "A complete upload is ready and has every field.", "completeUpload",
              completed),
        Check("completed-twice", "Completing again gives the same answer.", "Upload states",
              completed_twice),
        Check("program", "A program is refused when its upload is completed.", "completeUpload",
              program),
        Check("unknown", "An unknown upload is not_found.", "completeUpload", unknown),
        Check("not-ready", "A message cannot name an upload that is not complete.", "Errors",
              not_ready),
        Check("attached", "A message takes a complete upload.", "createMessage", attached),
        Check("attached-once", "An upload belongs to one message and is not completed again.",
              "Upload states", attached_once),
    ),
    sends=("upload",),
)  # fmt: skip
