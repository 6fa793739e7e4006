"""Typed questions and structured output over HTTP (design: Typed questions)."""

import json
import uuid
from typing import Any

import pytest

from agentpost.domain.schema_drafts import DRAFT
from tests.e2e.caller import Caller, Json
from tests.e2e.server import AgentServer

# What an answer has to be is decided before the database. The tests for both are those that keep
# a question or an output, read it again, or answer it a second time.
BOTH = pytest.mark.databases("sqlite", "postgres")
CHOICES = {"choices": ["Bar", "Line"]}
SCHEMA: Json = {
    "type": "object",
    "properties": {"rows": {"type": "integer"}},
    "required": ["rows"],
    "additionalProperties": False,
}
SETTINGS = {"turn_reply_seconds": 30}


def ask(caller: Caller, wanted: Json | None = None, *, job: bool = False) -> Json:
    """A message that asks, in a conversation of its own."""
    ask: list[list[Any]] = [["ask", "Which?", wanted or CHOICES]]
    script = [["start", "Work", [*ask, ["return", "Done."]]]] if job else ask
    message = caller.send(script, conversation=uuid.uuid4().hex)
    return caller.final(message["id"])


def problem(caller: Caller, **fields: Any) -> tuple[str, str]:
    """Where a message is refused, and why."""
    body = caller.refusal(400, "invalid_request", "POST", "/v1/messages", json=fields)
    return body["problems"][0]["field"], body["problems"][0]["problem"]


# --- asking ---------------------------------------------------------------------------------------
@pytest.mark.rule("Additions typedQuestions-1")
def test_other_messages_have_no_such_field(caller: Caller) -> None:
    for script in ([["reply", "hi"]], [["ask", "Which?"]]):
        assert {"answer_format", "output"}.isdisjoint(caller.send(script))


def test_a_wrong_question_is_the_agents_mistake(caller: Caller) -> None:
    assert caller.send([["ask", "Which?", {"choices": []}]])["reason"] == "turn_failed"
    both = {**CHOICES, "schema": SCHEMA}
    assert caller.send([["ask", "Which?", both]])["reason"] == "turn_failed"


# --- answering ------------------------------------------------------------------------------------
@pytest.mark.rule("Additions typedQuestions-1", "Additions typedQuestions-2")
@pytest.mark.parametrize("job", [False, True])
@pytest.mark.parametrize(
    ("wanted", "answer", "value"),
    [
        (CHOICES, " line ", '"Line"'),
        ({"schema": SCHEMA}, {"rows": 3}, '{"rows": 3}'),
        ({"schema": {"type": "boolean"}}, False, "false"),
    ],
)
@BOTH
def test_a_question_says_what_its_answer_has_to_be_and_the_agent_gets_it(
    caller: Caller, wanted: Json, answer: Any, value: str, job: bool
) -> None:
    message = ask(caller, wanted, job=job)
    assert (message["status"], message["question"]) == ("needs_input", "Which?")
    assert message["answer_format"] == wanted

    answered = caller.send(answer_to=message["id"], answer=answer)

    assert answered["reply"] == f'["{message["id"]}", {value}]'
    assert answered["conversation"] == message["conversation"]


@pytest.mark.rule("Additions typedQuestions-4")
@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [(CHOICES, "LINE", '"Line"'), ({"schema": SCHEMA}, '{"rows": 3}', '{"rows": 3}')],
)
def test_a_follow_up_that_fits_is_the_answer(
    caller: Caller, wanted: Json, text: str, value: str
) -> None:
    message = ask(caller, wanted)
    answered = caller.send(text, conversation=message["conversation"])
    assert answered["reply"] == f'["{message["id"]}", {value}]'

    again = caller.send(text, conversation=message["conversation"])
    assert again["reply"] == f"You said: {text}", "it was answered already"


@pytest.mark.rule("Additions typedQuestions-4")
@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (CHOICES, "neither"),
        ({"schema": SCHEMA}, '{"rows": "3"}'),
        ({"schema": SCHEMA}, "NaN"),
        ({"schema": SCHEMA}, "null"),
    ],
)
def test_any_other_follow_up_is_a_message(caller: Caller, wanted: Json, text: str) -> None:
    message = ask(caller, wanted)
    sent = caller.send(text, conversation=message["conversation"])
    assert sent["reply"] == f"You said: {text}"

    named = caller.send(text, answer_to=message["id"])
    assert named["reply"] == f"You said: {text}"


@pytest.mark.rule("Additions typedQuestions-2")
@BOTH
def test_the_text_and_the_answer_may_both_be_given(caller: Caller) -> None:
    message = ask(caller)
    answered = caller.send([["answer"]], answer_to=message["id"], answer="bar")
    assert answered["reply"] == f'["{message["id"]}", "Bar"]'


@pytest.mark.rule("Additions typedQuestions-3")
def test_an_answer_that_does_not_fit_is_refused(caller: Caller) -> None:
    message = ask(caller)
    where = {"answer_to": message["id"]}
    assert problem(caller, **where, answer="pie") == (
        "answer",
        'must be one of "Bar", "Line"',
    )
    assert problem(caller, **where, answer=["Bar"])[0] == "answer"
    assert problem(caller, **where, answer="x" * 20_001)[1] == "is over 20,000 characters"
    assert problem(caller, answer="Bar") == ("answer_to", "is needed with an answer")
    elsewhere = problem(caller, **where, answer="Bar", conversation="elsewhere")
    assert elsewhere == ("conversation", "the question is of another one")

    typed = ask(caller, {"schema": SCHEMA})
    said = problem(caller, answer_to=typed["id"], answer={"rows": "3"})
    assert said == ("answer", 'at $.rows: "3" is not of type "integer"')
    assert caller.send(answer_to=typed["id"], answer={"rows": 3})["status"] == "completed"


@pytest.mark.rule("Additions typedQuestions-3")
def test_only_a_message_that_asks_can_be_answered(caller: Caller) -> None:
    for unknown in ("msg_" + "0" * 32, "nothing"):
        body = {"answer_to": unknown, "answer": "Bar"}
        caller.refusal(404, "not_found", "POST", "/v1/messages", json=body)
    plain = caller.send("hello", conversation=uuid.uuid4().hex)
    assert problem(caller, answer_to=plain["id"], answer="Bar")[0] == "answer_to"


@pytest.mark.rule("Additions typedQuestions-3")
def test_an_answer_may_be_a_long_list(caller: Caller) -> None:
    message = ask(caller, {"schema": {"type": "array", "items": {"type": "integer"}}})
    answer = list(range(1_000))
    assert caller.send(answer_to=message["id"], answer=answer)["status"] == "completed"


@BOTH
def test_a_question_with_a_pattern_that_is_refused_by_now_is_answered(
    caller: Caller, server: AgentServer
) -> None:
    """Earlier versions took dearer patterns: a new schema with one is refused, a stored one is not,
    for its question could never be answered and its conversation would be stuck."""
    schema: Json = {"type": "object", "properties": {"name": {"pattern": r"\w" * 50}}}
    assert problem(caller, message="go", response_schema=schema)[0] == "response_schema"
    message = ask(caller, {"schema": SCHEMA})
    stored = json.dumps({"schema": schema})
    server.execute(
        f"UPDATE messages SET answer_format_json = '{stored}' WHERE id = '{message['id']}'"
    )
    field, text = problem(caller, answer_to=message["id"], answer={"name": "-"})
    assert (field, "at $.name" in text) == ("answer", True)
    answered = caller.send(answer_to=message["id"], answer={"name": "x" * 50})
    assert answered["status"] == "completed"


@pytest.mark.rule("Additions typedQuestions-5")
@BOTH
def test_a_question_is_answered_once(caller: Caller) -> None:
    message = ask(caller)
    fields = {"answer_to": message["id"], "answer": "Bar"}
    first = caller.post(**fields, key="once")
    again = caller.post(**fields, key="once")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert problem(caller, **fields) == ("answer_to", "that question has been answered")
    other = {**fields, "answer": "Line"}
    assert caller.post(**other, key="once").json()["error"] == "idempotency_conflict"


@pytest.mark.rule("Additions typedQuestions-5")
@BOTH
def test_an_answer_that_came_to_nothing_may_be_given_again(caller: Caller) -> None:
    message = ask(caller)
    fields = {"answer_to": message["id"], "answer": "Bar"}
    assert caller.send([["leak", "error"]], **fields)["status"] == "failed"
    assert caller.send([["answer"]], **fields)["reply"] == f'["{message["id"]}", "Bar"]'


@pytest.mark.rule("Additions typedQuestions-2")
def test_a_plain_question_takes_any_answer(caller: Caller) -> None:
    message = caller.send([["ask", "Which?"]], conversation=uuid.uuid4().hex)
    answered = caller.send([["answer"]], answer_to=message["id"], answer=[1])
    assert answered["reply"] == f'["{message["id"]}", [1]]'


@pytest.mark.rule("Additions typedQuestions-1", "Additions structuredOutput-1")
def test_a_schema_of_an_earlier_draft_is_taken(caller: Caller) -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    pair: Json = {**draft, "items": [{"type": "integer"}, {"type": "string"}]}
    message = ask(caller, {"schema": pair})
    schema = message["answer_format"]["schema"]
    assert schema == {"$schema": DRAFT, "prefixItems": pair["items"]}
    fields = {"message": "go", "answer_to": message["id"], "answer": ["x"]}
    assert problem(caller, **fields)[0] == "answer"

    message = caller.send([["output", ["x"], [1, "x"]]], response_schema=pair)
    assert (message["output"], message["reply"][:13]) == ([1, "x"], "1 problems: $")
    field, text = problem(caller, message="go", response_schema={**draft, "prefixItems": [{}]})
    assert (field, text[:16]) == ("response_schema", "prefixItems mean")


# --- output ---------------------------------------------------------------------------------------
@pytest.mark.rule("Additions structuredOutput-1")
def test_an_output_fits_its_schema(caller: Caller) -> None:
    message = caller.send([["output", {"rows": 3}]], response_schema=SCHEMA)
    assert (message["status"], message["output"]) == ("completed", {"rows": 3})
    assert message["reply"] is None


@pytest.mark.rule("Additions structuredOutput-1")
@BOTH
def test_a_jobs_output_is_that_of_its_message(caller: Caller, server: AgentServer) -> None:
    job = [["output", {"rows": 1}], ["output", {"rows": 2}], ["gate", "shown"], ["return", "Ok."]]
    message = caller.send([["start", "Work", job]], response_schema=SCHEMA)
    assert message["output"] is message["jobs"][0]["output"] is None

    server.open_gate("shown")
    done = caller.final(message["id"])
    assert done["output"] == done["jobs"][0]["output"] == {"rows": 2}
    assert done["jobs"][0]["text"] == "Ok."


@pytest.mark.rule("Additions structuredOutput-2")
def test_one_invalid_output_may_be_mended(caller: Caller) -> None:
    script = [["output", {"rows": "3", "x": 1}, {"rows": 3}]]
    message = caller.send(script, response_schema=SCHEMA)
    assert message["output"] == {"rows": 3}
    assert message["reply"].startswith("2 problems: $")

    job = caller.send([["start", "Work", script]], response_schema=SCHEMA)
    assert caller.final(job["id"])["output"] == {"rows": 3}


@pytest.mark.rule("Additions structuredOutput-2")
def test_a_second_invalid_output_is_the_end(caller: Caller) -> None:
    script = [["output", {}, [], {"rows": 3}]]
    message = caller.send(script, response_schema=SCHEMA)
    assert (message["reason"], message["output"]) == ("turn_failed", None)
    (entry,) = caller.log(message["id"])
    assert entry["text"] == "The agent's output did not fit the response_schema, twice."

    job = caller.final(caller.send([["start", "Work", script]], response_schema=SCHEMA)["id"])
    assert (job["reason"], job["output"]) == ("execution_failed", None)
    assert "did not fit the response_schema" in job["jobs"][0]["text"]


@pytest.mark.rule("Additions structuredOutput-3")
@BOTH
def test_an_output_that_is_missing_is_a_failure(caller: Caller) -> None:
    message = caller.send([["reply", "hello"]], response_schema=SCHEMA)
    assert (message["reason"], message["output"]) == ("turn_failed", None)
    (entry,) = caller.log(message["id"])
    assert entry["text"] == "The agent gave no output for the response_schema."

    script = [["start", "Work", [["return", "Done."]]]]
    job = caller.final(caller.send(script, response_schema=SCHEMA)["id"])
    assert job["reason"] == "execution_failed"
    assert job["jobs"][0]["text"] == "The work ended without an output for the response_schema."


@pytest.mark.rule("Additions structuredOutput-3")
@pytest.mark.parametrize("ask", [["ask", "Which?"], ["start", "W", [["ask", "Which?"]]]])
def test_who_asks_needs_no_output_yet(caller: Caller, ask: list[Any]) -> None:
    message = caller.send([ask], response_schema=SCHEMA, conversation=uuid.uuid4().hex)
    done = caller.final(message["id"])
    assert (done["status"], done["output"]) == ("needs_input", None)


@pytest.mark.rule("Additions structuredOutput-1")
def test_an_output_that_nobody_asked_for_is_dropped(caller: Caller) -> None:
    message = caller.send([["output", 1], ["reply", "hi"], ["start", "W", [["output", 2]]]])
    done = caller.final(message["id"])
    assert done["status"] == "completed"
    assert "output" not in done
    assert "output" not in done["jobs"][0]


@pytest.mark.rule("Additions structuredOutput-1")
def test_a_schema_that_cannot_be_used_is_refused(caller: Caller) -> None:
    given = [
        ({"type": "objekt"}, "not a JSON Schema"),
        ({"$ref": "http://x/"}, "the schema itself"),
    ]
    for schema, text in given:
        field, said = problem(caller, message="go", response_schema=schema)
        assert field == "response_schema"
        assert text in said
    assert problem(caller, message="go", response_schema=True)[0] == "response_schema"
