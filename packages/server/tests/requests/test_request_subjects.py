"""Which message a line of the request log is about, and which bodies are not kept at all."""

import pytest

from agentpost.domain.limits import REQUEST_BODY_KEPT_CHARACTERS_MAX
from agentpost.record.records import RequestRecord
from agentpost.requests.actions import with_subject

ONE, TWO = f"msg_{'1' * 32}", f"msg_{'2' * 32}"
SHOWN = f'{{"id": "{ONE}"}}'
LONG = SHOWN + "x" * REQUEST_BODY_KEPT_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("asked", "status", "sent", "answered", "about", "is_kept"),
    [
        (f"GET /v1/messages/{ONE}", 200, None, f"{SHOWN} {TWO}", ONE, True),
        (f"GET /v1/messages/{ONE.replace('_', '%5F')}?wait=3", 200, None, SHOWN, ONE, True),
        (f"GET /v1/messages/{ONE}", 200, None, LONG, ONE, True),
        (f"GET /v1/messages/{ONE}", 404, None, "not found", None, True),
        (f"POST /v1/messages/{ONE}/cancel", 409, "{}", "final", ONE, True),
        ("POST /v1/messages", 201, f"see {TWO}", SHOWN, ONE, True),
        ("POST /v1/messages", 200, "hello", None, None, False),
        ("POST /v1/messages", 499, "hello", None, None, False),
        ("POST /v1/messages", 503, "hello", "later", None, False),
        ("POST /v1/%6Dessages", 499, "hello", None, None, False),
        ("GET /v1/messages", 200, None, SHOWN, ONE, True),
        (f"GET /v1/messages?before={TWO}", 200, None, SHOWN, ONE, True),
        ("GET /v1/events", 200, None, f"{SHOWN} {TWO}", None, False),
        ("GET /v1/events", 200, None, LONG, None, False),
        ("GET /v1/me", 200, None, "{}", None, True),
        ("GET /v1/requests/req_1", 200, None, SHOWN, None, False),
    ],
)
def test_a_line_is_about_one_message_or_keeps_nothing_of_any(
    asked: str, status: int, sent: str | None, answered: str | None, about: str | None,
    is_kept: bool,
) -> None:  # fmt: skip
    method, _, path = asked.partition(" ")
    line = with_subject(
        RequestRecord(
            *("req_1", 0, "acc_1", "key_1", method, path, status, None, 1, 0, 0),
            request_body=sent,
            response_body=answered,
        )
    )
    assert line.message_id == about
    assert (line.request_body, line.response_body) == (
        (sent, answered) if is_kept else (None, None)
    )


@pytest.mark.parametrize("status", [404, 422])
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('{"message": "hello", "files": [{"name": "a"}], "stream": 1}',
         '{"message": "…", "files": [{"name": "…"}], "stream": 1}'),
        ("hello", None),
        ("[" * 100_000, None),
        (None, None),
    ],
)  # fmt: skip
def test_of_a_refused_message_the_fields_are_kept_and_no_text(
    sent: str | None, kept: str | None, status: int
) -> None:
    line = with_subject(
        RequestRecord(
            *("req_1", 0, "acc_1", "key_1", "POST", "/v1/messages", status, None, 1, 0, 0),
            request_body=sent,
            response_body="too long",
        )
    )
    assert (line.request_body, line.response_body) == (kept, "too long")
