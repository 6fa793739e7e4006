"""One rule for what may be sent, whichever way it comes (spec: createMessage)."""

from dataclasses import fields
from typing import Any

import pytest

from agentpost.contract.validation import check_texts, validate
from agentpost.domain.errors import InvalidRequest, Problem, Refusal
from agentpost.messages.body_shapes import MessageIn, refuse_by_name
from agentpost.messages.new_messages import NewMessage, check, from_fields
from agentpost.uploads.attachments import InlineFile

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "empty_message"),
    "a text that is too long": ({"message": "x" * 20_001}, "too_long"),
    "too many uploads": ({"upload_ids": [f"upl_{n}" for n in range(11)]}, "too_many"),
    "a file without contents": ({"files": [{"name": "a.txt"}]}, "files.0"),
    "an answer to nothing": ({"answer": "yes"}, "answer_to"),
    "a long name of a conversation": ({"message": "hi", "conversation": "c" * 129}, "conversation"),
    "too many labels": (
        {"message": "hi", "metadata": {str(n): "x" for n in range(17)}},
        "metadata",
    ),
    "a long label": ({"message": "hi", "metadata": {"a": "x" * 513}}, "metadata.a"),
    "a label that is no text": ({"message": "hi", "metadata": {"a": 1}}, "metadata.a"),
    "a text that cannot be stored": ({"message": "a\0b"}, "message"),
    "a label that cannot be stored": ({"message": "hi", "metadata": {"a": "\ud800"}}, "metadata.a"),
    "an answer that cannot be stored": (
        {"answer_to": "msg_1", "answer": {"a": ["\0"]}},
        "answer.a.0",
    ),
}


def by_http(public: dict[str, Any]) -> NewMessage:
    """As `POST /v1/messages` reads a body."""
    refuse_by_name(public)
    problems: list[Problem] = []
    check_texts(public, problems)
    if problems:
        raise InvalidRequest(*problems)
    return from_fields(validate(MessageIn, public).model_dump())


def by_another_door(public: dict[str, Any]) -> NewMessage:
    """As other protocols, schedules and pages send: made first, then checked."""
    new = NewMessage(
        text=public.get("message", ""),
        conversation=public.get("conversation", ""),
        metadata=public.get("metadata"),
        upload_ids=tuple(public.get("upload_ids", ())),
        files=tuple(InlineFile.of(each) for each in public.get("files", ())),
        answer_to=public.get("answer_to"),
        answer=public.get("answer"),
    )
    check(new)
    return new


@pytest.mark.parametrize("way_in", [by_http, by_another_door])
@pytest.mark.parametrize("name", REFUSED)
def test_each_way_in_refuses_the_same(way_in: Any, name: str) -> None:
    public, expected = REFUSED[name]
    with pytest.raises(Refusal) as refused:
        way_in(public)
    problems = getattr(refused.value, "problems", ())
    assert expected in [refused.value.code.value, *(each.field for each in problems)]


def test_a_message_that_may_be_sent_passes_both() -> None:
    public = {"message": "hi", "conversation": "c" * 128, "metadata": {"a": "b"}}
    assert by_http(dict(public)) == by_another_door(public)


def test_each_field_of_the_body_is_one_of_the_message() -> None:
    """A field that is added to the body and forgotten here would be dropped by every way in."""
    names = {"text" if name == "message" else name for name in MessageIn.model_fields}
    assert names <= {field.name for field in fields(NewMessage)}
    assert from_fields({"message": " a ", "upload_ids": ["u", "u"]}).upload_ids == ("u",)
