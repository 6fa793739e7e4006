"""The form of a typed question: which fields a schema has, and what an answer in it means."""

import asyncio
import re
from typing import Any

import httpx2
import pytest

from agentpost.domain.answers import AnswerFormat
from agentpost.questions import forms
from agentpost.turns import actions as turns
from agentpost.turns.actions import TurnResult
from agentpost.web.forms import Form
from tests.harness.driver import Hands
from tests.web.site import Site

PARCEL = {
    "type": "object",
    "properties": {
        "kilograms": {"type": "number", "minimum": 0},
        "floors": {"type": "integer", "description": "Stairs cost more."},
        "express": {"type": "boolean"},
        "size": {"enum": ["S", "L", 3]},
        "to_whom": {"type": "string", "title": "To whom?", "maxLength": 40},
    },
    "required": ["kilograms", "express"],
}


def make_form(**values: str) -> Form:
    return Form({name.replace("_", "-"): [value] for name, value in values.items()})


def test_a_plain_schema_has_a_field_for_each_property() -> None:
    found = forms.fields(AnswerFormat(schema=PARCEL))
    assert found is not None
    assert [(f.label, f.kind, f.required) for f in found] == [
        ("Kilograms", "number", True),
        ("Floors", "number", False),
        ("Express", "choice", True),
        ("Size", "choice", False),
        ("To whom?", "text", False),
    ]
    assert found[1].hint == "Stairs cost more."
    assert found[0].attributes == {"min": 0, "step": "any"}
    assert found[4].attributes == {"maxlength": 40}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
        {"type": "object", "properties": {f"a{n}": {"type": "string"} for n in range(21)}},
        {"anyOf": [{"type": "string"}, {"type": "number"}]},
        {"enum": [["a"], None]},
    ],
)
def test_any_other_schema_is_answered_with_json(schema: dict[str, Any]) -> None:
    assert forms.fields(AnswerFormat(schema=schema)) is None


@pytest.mark.parametrize(
    ("wanted", "form", "value"),
    [
        (AnswerFormat(choices=("a", "b")), make_form(answer="b"), "b"),
        (
            AnswerFormat(schema=PARCEL),
            make_form(
                answer_0="1.5", answer_1="2", answer_2="false", answer_3="3", answer_4=" Eve "
            ),
            {"kilograms": 1.5, "floors": 2, "express": False, "size": 3, "to_whom": "Eve"},
        ),
        (AnswerFormat(schema=PARCEL), make_form(answer_0="1", answer_4=""), {"kilograms": 1}),
        (AnswerFormat(schema={"type": "boolean"}), make_form(answer_0="true"), True),
        (AnswerFormat(schema={"enum": ["x", "y"]}), make_form(answer_0='"y"'), "y"),
        (AnswerFormat(schema={"type": "array"}), make_form(answer_json="[1, 2]"), [1, 2]),
        (AnswerFormat(schema={"type": "array"}), make_form(), None),
    ],
)
def test_what_was_filled_in_is_the_answer(wanted: AnswerFormat, form: Form, value: Any) -> None:
    assert forms.value_of(wanted, form) == value


@pytest.mark.parametrize(
    ("schema", "form", "said"),
    [
        (
            {"type": "number", "title": "Weight"},
            make_form(answer_0="heavy"),
            "Weight: write a number",
        ),
        ({"type": "boolean"}, make_form(answer_0="maybe"), "choose one"),
        ({"type": "array"}, make_form(answer_json="[1"), "not valid JSON"),
    ],
)
def test_what_cannot_be_read_is_said(schema: dict[str, Any], form: Form, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        forms.value_of(AnswerFormat(schema=schema), form)


def ask(site: Site, wanted: AnswerFormat) -> None:
    """The agent ends the turn that runs with a question."""
    hands = site.ctx.turns
    assert isinstance(hands, Hands)
    _, ticket = hands.tickets.popitem()
    result = TurnResult(None, "Which <one>?", None, wanted.json())
    asyncio.run(turns.end(site.ctx, ticket, result))


def stored_answer(site: Site) -> str | None:
    hands = site.ctx.turns
    assert isinstance(hands, Hands)
    return next(ticket.message.answer_json for ticket in hands.tickets.values())


def test_choices_are_buttons_that_answer(site: Site, browser: httpx2.Client) -> None:
    chat = browser.post("/chat", data={"text": "Chart it"}).headers["location"]
    ask(site, AnswerFormat(choices=("Bar", "<Line>")))
    page = browser.get(chat).text
    assert page.count('<button name="answer"') == 2
    assert 'value="&lt;Line&gt;"' in page
    (asking,) = re.findall(r'name="answer_to" value="(msg_\w+)"', page)
    fields = {"answer_to": asking, "answer": "<Line>"}
    assert browser.post(chat, data=fields).headers["location"] == chat
    assert stored_answer(site) == f'{{"message_id": "{asking}", "value": "<Line>"}}'
    page = browser.get(chat).text
    assert 'name="answer"' not in page
    assert "&lt;Line&gt;" in page
    again = browser.post(chat, data=fields)
    assert (again.status_code, again.headers["location"]) == (303, chat)


def test_a_schema_is_a_form_that_says_what_is_wrong(site: Site, browser: httpx2.Client) -> None:
    chat = browser.post("/chat", data={"text": "Send it"}).headers["location"]
    ask(site, AnswerFormat(schema=PARCEL))
    page = browser.get(chat).text
    assert 'type="number"' in page
    (asking,) = re.findall(r'name="answer_to" value="(msg_\w+)"', page)
    fields = {"answer_to": asking, "answer-0": "-1", "answer-2": "true"}
    wrong = browser.post(chat, data=fields)
    assert wrong.status_code == 422
    assert "At $.kilograms: -1 is less than the minimum of 0." in wrong.text
    assert 'value="-1"' in wrong.text
    done = browser.post(chat, data={**fields, "answer-0": "2"})
    assert done.status_code == 303
    assert '"kilograms": 2' in (stored_answer(site) or "")
