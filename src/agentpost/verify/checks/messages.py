"""Sending messages (spec: createMessage)."""

from __future__ import annotations

from typing import Any

from agentpost.domain.limits import (
    INLINE_FILES_MAX,
    MESSAGE_CHARACTERS_MAX,
    PROBLEMS_MAX,
    UPLOADS_PER_MESSAGE_MAX,
    WAIT_SECONDS_MAX,
)
from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import GREETING, PROGRAM, Probe, inline, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    expect_status,
    fields_of,
    names_field,
    refused,
    require,
    shown,
)

LONG_KEY = "long-" + "x" * 130
"""With our prefix longer than the 128 characters that count."""
PROGRAM_NAME = "verify-program"
UNREACHABLE_NAME = "verify-unreachable.csv"


def created(probe: Probe) -> None:
    exchange = probe.greeting_sent()
    shaped(exchange, shapes.MESSAGE, expect_status(exchange, 201))


def at_once(probe: Probe) -> None:
    """The answer has no reply, however fast the agent is; the message gets it afterwards."""
    refusal = probe.send(GREETING, wait=WAIT_SECONDS_MAX + 1)
    if refusal.status == 201:
        raise NotChecked("this deployment knows no wait of a POST, which agentpost adds to the API")
    names_field(refusal, "wait")
    exchange = probe.send(GREETING, wait=0)
    sent = expect_status(exchange, 201)
    shaped(exchange, shapes.MESSAGE, sent)
    found = (sent.get("status"), sent.get("final"))
    require(exchange, found == ("processing", False), "processing, not final", shown(sent))
    probe.final(sent["id"])


def empty(probe: Probe) -> None:
    nothing: tuple[Any, ...] = ({}, {"message": None}, {"message": ""}, {"files": []})
    for body in nothing:
        refused(probe.post(body), 400, "empty_message")


def unknown_fields(probe: Probe) -> None:
    """A body of nothing but unknown fields is empty, not invalid: no message is needed."""
    refused(probe.post({"verify_unknown": {"a": [1]}}), 400, "empty_message")


def longest(probe: Probe) -> None:
    expect_status(longest_sent(probe), 201)


def longest_sent(probe: Probe) -> Exchange:
    """The answer to the longest text allowed, sent with a key longer than counts."""
    key = probe.key_named(LONG_KEY)
    return probe.sample("answer to a long message", lambda: probe.send(longest_text(), key, None))


def longest_text() -> str:
    """As many characters as a message may have."""
    return f"{GREETING}. ".ljust(MESSAGE_CHARACTERS_MAX, ".")


def too_long(probe: Probe) -> None:
    refused(probe.post({"message": "." * (MESSAGE_CHARACTERS_MAX + 1)}), 400, "too_long")


def strict_types(probe: Probe) -> None:
    wrong: tuple[tuple[str, Any], ...] = (
        ("message", {"message": 5}),
        ("files", {"message": GREETING, "files": "a.csv"}),
        ("files.0.name", {"message": GREETING, "files": [{"name": 7, "base64": ""}]}),
        ("upload_ids.0", {"message": GREETING, "upload_ids": [1]}),
    )
    for field, body in wrong:
        names_field(probe.post(body), field)


def file_without_content(probe: Probe) -> None:
    names_field(probe.post({"message": GREETING, "files": [{"name": "a.csv"}]}), "files.0")


def at_most_ten_problems(probe: Probe) -> None:
    files = [{"name": number, "base64": "", "url": 1} for number in range(12)]
    exchange = probe.post({"message": GREETING, "files": files})
    problems = refused(exchange, 400, "invalid_request").get("problems")
    count = len(fields_of(problems))
    words = f"2 to {PROBLEMS_MAX} problems"
    require(exchange, 2 <= count <= PROBLEMS_MAX, words, f"{count} problems")


def too_many_uploads(probe: Probe) -> None:
    uploads = [f"up_verify{number}" for number in range(UPLOADS_PER_MESSAGE_MAX + 1)]
    refused(probe.post({"message": GREETING, "upload_ids": uploads}), 400, "too_many")


def unknown_upload(probe: Probe) -> None:
    body = {"message": GREETING, "upload_ids": ["up_unknown"]}
    refused(probe.post(body), 409, "upload_not_ready")


def unknown_endpoint(probe: Probe) -> None:
    body = {"message": GREETING, "webhook_endpoint_id": "whe_unknown"}
    refused(probe.post(body), 404, "not_found")


def odd_files(probe: Probe) -> None:
    expect_status(_odd_files_sent(probe), 201)


def program_noted(probe: Probe) -> None:
    _has_note(probe, PROGRAM_NAME)


def unreachable_noted(probe: Probe) -> None:
    _has_note(probe, UNREACHABLE_NAME)


def _odd_files_sent(probe: Probe) -> Exchange:
    """More files than are taken, and among those taken some that cannot be."""
    fetched = f"https://agentpost-verify-{probe.nonce}.invalid/a.csv"
    files = [
        inline(PROGRAM_NAME, PROGRAM),
        {"name": UNREACHABLE_NAME, "url": fetched},
        *(inline(f"verify-{n}.txt", b"nothing\n") for n in range(INLINE_FILES_MAX - 1)),
    ]
    return probe.sample(
        "answer to a message with odd files", lambda: probe.send(GREETING, files=files)
    )


def _has_note(probe: Probe, name: str) -> None:
    def make() -> Json:
        return probe.final(usable(_odd_files_sent(probe), 201)["id"])

    notes = probe.sample("message with odd files", make).get("notes")
    found = any(name in str(note) for note in notes or [])
    require(_odd_files_sent(probe), found, f"a note that names {name}", shown(notes))


GROUP = Group(
    "messages",
    "sending messages",
    (
        Check("created", "A new message is 201 and has every field.", "Message", created),
        Check(
            "at-once", "With wait=0 a message is answered before its turn has ended.",
            "Additions wait-1", at_once,
        ),
        Check(
            "empty", "Nothing to say, no files, no uploads: empty_message.", "Errors", empty
        ),
        Check(
            "unknown-fields", "Unknown fields of a request are ignored.", "Versioning 2",
            unknown_fields,
        ),
        Check("longest", "A text of 20,000 characters is taken.", "Limits", longest),
        Check("too-long", "One character more is too_long.", "Limits", too_long),
        Check(
            "strict-types", "A wrong type is invalid_request and names its field.", "Errors",
            strict_types,
        ),
        Check(
            "file-without-content", "An inline file needs a url or base64.", "InlineFile",
            file_without_content,
        ),
        Check(
            "at-most-ten-problems", "Several problems are reported at once, ten at most.",
            "Errors", at_most_ten_problems,
        ),
        Check("too-many-uploads", "Eleven uploads are too_many.", "Limits", too_many_uploads),
        Check(
            "unknown-upload", "An upload that is not there is upload_not_ready.", "Errors",
            unknown_upload,
        ),
        Check(
            "unknown-endpoint", "An endpoint that is not there is not_found.", "createMessage",
            unknown_endpoint,
        ),
        Check(
            "odd-files", "Files that cannot be taken, and a sixth, don't fail the message.",
            "createMessage 4", odd_files,
        ),
        Check(
            "program-noted", "A program among the files is skipped and noted.",
            "createMessage 4", program_noted,
        ),
        Check(
            "unreachable-noted", "A file that cannot be fetched is noted.", "createMessage 4",
            unreachable_noted,
        ),
    ),
    sends=("greeting", "not held", "longest", "odd files"),
)  # fmt: skip
