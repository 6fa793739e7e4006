"""Outputs that fit a schema through the Responses API, read by the official client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai
from tests.node import run_official

MODEL = "agentpost"


class Rows(BaseModel):
    """What the caller wants to read."""

    rows: int


def test_the_output_of_a_job_is_parsed(client: openai.OpenAI) -> None:
    given = [["output", {"rows": "many"}, {"rows": 3}]]
    script: list[Any] = [["reply", "Look."], ["start", "Count", given]]
    answer = client.responses.parse(model=MODEL, input=json.dumps(script), text_format=Rows)
    assert answer.output_parsed == Rows(rows=3)
    assert (answer.model_extra or {})["agentpost"]["output"] == {"rows": 3}
    text = answer.to_dict()["text"]
    assert text["format"]["type"] == "json_schema"  # type: ignore[index]


def test_an_answer_that_is_no_choice_is_refused(client: openai.OpenAI) -> None:
    script = json.dumps([["ask", "Which?", {"choices": ["Bar", "Line"]}]])
    asked = client.responses.create(model=MODEL, input=script)
    assert asked.output_text == "Which?"
    more: Any = {"model": MODEL, "previous_response_id": asked.id}
    with pytest.raises(openai.BadRequestError, match=r"Bar.*Line"):
        client.responses.create(input="pie", **more)
    key = {"Idempotency-Key": f"answer-to-{asked.id}"}
    answer = client.responses.create(input="line", extra_headers=key, **more)
    assert client.responses.create(input="line", extra_headers=key, **more).id == answer.id
    also = client.responses.create(model=MODEL, input=script)
    there: Any = {"model": MODEL, "previous_response_id": also.id}
    with pytest.raises(openai.ConflictError):  # the same text says something else there
        client.responses.create(input="line", extra_headers=key, **there)
    assert client.responses.create(input="And now?", **more).status == "completed"


class Sums(BaseModel):
    """What the caller wants."""

    total: int
    notes: list[str]


def test_an_output_fits_the_class_of_the_caller(client: openai.OpenAI) -> None:
    """The texts that come besides are left out: they are no JSON."""
    wanted = {"total": 1042, "notes": ["all rows"]}
    text = json.dumps(
        [["delta", "Of no use to who wants JSON. "], ["reply", "Here."], ["output", wanted]]
    )
    answer = client.responses.parse(model=MODEL, input=text, text_format=Sums)
    assert answer.output_parsed == Sums(total=1042, notes=["all rows"])
    assert answer.text is not None
    assert answer.text.format is not None
    assert answer.text.format.type == "json_schema"
    with client.responses.stream(model=MODEL, input=text, text_format=Sums) as stream:
        assert stream.get_final_response().output_parsed == answer.output_parsed
    missing = client.responses.parse(model=MODEL, input="just talk", text_format=Sums)
    assert (missing.status, missing.output_parsed) == ("failed", None)
    asking = json.dumps([["ask", "Which year?"]])
    of_sums = as_text(Sums.model_json_schema())
    asked = client.responses.create(model=MODEL, input=asking, text=of_sums)
    assert (asked.status, asked.output_text) == ("completed", "Which year?")
    with pytest.raises(openai.BadRequestError, match="response_schema"):
        client.responses.create(model=MODEL, input="x", text=as_text({"type": 7}))


class Tree(BaseModel):
    """What contains itself."""

    name: str
    children: list[Tree]


def test_an_output_fits_a_class_that_contains_itself(client: openai.OpenAI) -> None:
    tree = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    wrong = {"name": "a", "children": [{"name": "b", "children": [{"name": 3, "children": []}]}]}
    text = json.dumps([["output", wrong, tree]])
    answer = client.responses.parse(model=MODEL, input=text, text_format=Tree)
    assert answer.output_parsed == Tree.model_validate(tree)
    assert "$.children[0].children[0].name" in (answer.model_extra or {})["agentpost"]["reply"]


@pytest.mark.timeout(300)  # npm may install packages first
def test_javascript_clients_get_what_fits_a_schema_of_zod(server: AgentServer) -> None:
    """Their schemas are of draft-07."""
    printed = run_official("structured.mjs", BASE_URL=f"{server.url}/openai/v1", KEY=KEY)
    results = json.loads(printed)
    assert len(results) == 4
    for value, *parsed in results:
        assert parsed == [value] * len(parsed)


def as_text(schema: dict[str, Any]) -> Any:
    """The parameter ``text`` that asks for such an output."""
    return {"format": {"type": "json_schema", "name": "sums", "schema": schema}}
