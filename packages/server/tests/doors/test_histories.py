"""Calls of the Responses API that hold what was said before, as most of its clients send them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.doors.test_responses import create, native, script
from tests.e2e import posting
from tests.e2e.caller import Caller
from tests.libraries import openai

SEE = script(["see"])


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def place_of(answer: Any) -> str:
    """Where the server keeps what was said: the id of the conversation that a message is in."""
    name = native(answer)["conversation"]
    assert isinstance(name, str)
    return name


def history_of(answer: Any) -> list[list[str]]:
    """What the agent says it has seen."""
    history: list[list[str]] = json.loads(answer.output_text.strip())["history"]
    return history


def as_texts(answer: Any) -> list[Any]:
    return [assistant(answer.output_text)]


def as_items(answer: Any) -> list[Any]:
    return [item.to_dict() for item in answer.output]


def as_references(answer: Any) -> list[Any]:
    return [{"type": "item_reference", "id": item.id} for item in answer.output]


WORK = script(["start", "Report", [["return", "It is done."]]])


@pytest.mark.parametrize("shown", [as_texts, as_items, as_references])
@pytest.mark.parametrize("opening", ["hello", WORK])
def test_three_turns_are_one_conversation(client: openai.OpenAI, shown: Any, opening: str) -> None:
    """However the client sends the answers back, also one of several outputs."""
    said: list[Any] = [user(f"{opening}")]
    first = create(client, input=said, instructions="Be kind.", user=shown.__name__)
    said += [*shown(first), user(SEE)]
    second = create(client, input=said, user=shown.__name__, temperature=0.3)
    said += [*shown(second), user(SEE)]
    third = create(client, input=said, user=shown.__name__)
    assert place_of(first) == place_of(second) == place_of(third)
    assert len(history_of(third)) == len(history_of(second)) + 2
    assert [role for role, _ in history_of(second)][:2] == ["user", "agent"]


def test_an_edited_history_begins_anew_with_all_of_it(client: openai.OpenAI) -> None:
    first = create(client, input="hello")
    said = [user("hello"), assistant("Something else."), user("And now?")]
    second = create(client, input=said)
    assert place_of(second) != place_of(first)
    assert second.output_text == (
        "You said: [Said before]\nUser: hello\nAssistant: Something else.\n\n[Message]\nAnd now?"
    )
    third = create(client, input=[*said, assistant(second.output_text), user(SEE)])
    assert place_of(third) == place_of(second)


def test_an_old_place_of_a_conversation_is_another_conversation(client: openai.OpenAI) -> None:
    """To ask again from an earlier place means not to have said what came later."""
    said = [user("A fork?"), *as_texts(create(client, input="A fork?"))]
    left = create(client, input=[*said, user("left")])
    right = create(client, input=[*said, user("right")])
    assert place_of(left) != place_of(right)
    assert "Assistant: You said: A fork?" in right.output_text


def test_equal_conversations_are_kept_apart(client: openai.OpenAI) -> None:
    openings = [create(client, input="the same") for _ in range(2)]
    said = [user("the same"), *as_texts(openings[0])]
    with ThreadPoolExecutor() as threads:
        calls = [[*said, user(script(["reply", f"{n}"], ["see"]))] for n in range(4)]
        answers = list(threads.map(lambda each: create(client, input=each), calls))
    places = [place_of(each) for each in answers]
    assert len(set(places)) == 4
    assert {place_of(each) for each in openings} <= set(places)


def test_labels_tell_conversations_apart(client: openai.OpenAI) -> None:
    first = create(client, input="mine", metadata={"of": "Ada"})
    said = [user("mine"), *as_texts(first), user("more")]
    assert place_of(create(client, input=said, metadata={"of": "Bob"})) != place_of(first)
    assert place_of(create(client, input=said, metadata={"of": "Ada"})) == place_of(first)


def test_instructions_stand_before_the_text(client: openai.OpenAI, caller: Caller) -> None:
    said = [{"role": "developer", "content": "In German."}, user("Good day")]
    answer = create(client, input=said, instructions="Be brief.")
    text = "[Instructions of the caller]\nBe brief.\nIn German.\n\n[Message]\nGood day"
    assert answer.output_text == f"You said: {text}"
    assert caller.get(native(answer)["id"])["status"] == "completed"


def test_what_is_too_long_for_a_message_comes_as_a_file(client: openai.OpenAI) -> None:
    said = [user("x" * 19_990), assistant("Long."), user("And now?")]
    answer = create(client, input=said)
    note = "[What the caller sent along is in the attached file context.txt.]"
    assert answer.output_text == f"You said: {note}\n\n[Message]\nAnd now?"
    with pytest.raises(openai.BadRequestError, match="20,000"):
        create(client, input=[*said[:2], user("x" * 20_001)])


def test_files_of_a_history_are_there(client: openai.OpenAI, caller: Caller) -> None:
    """In the conversation that goes on they are anyway; a new one gets them again, but uploads."""
    content = [
        {"type": "input_text", "text": "Look."},
        {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,bm93"},
        {"type": "input_file", "file_id": posting.ready(caller, b"from an upload", "b.txt")},
    ]
    said = [{"role": "user", "content": content}]
    first = create(client, input=said)
    said += [*as_texts(first), user(SEE)]
    assert place_of(create(client, input=said)) == place_of(first)
    anew = create(client, input=[said[0], assistant("Yes."), user("And now?")])
    assert "User: Look. (files: a.txt, up_" in anew.output_text
    assert caller.get(native(anew)["id"])["notes"] == []


def test_a_typed_question_is_answered_in_the_history(client: openai.OpenAI) -> None:
    question = script(["ask", "Which?", {"choices": ["Bar", "Line"]}])
    asked = create(client, input=question)
    said = [user(question), *as_texts(asked), user("line")]
    answer = create(client, input=said, instructions="Be brief.")
    assert place_of(answer) == place_of(asked)
    assert json.loads(answer.output_text) == [native(asked)["id"], "Line"]


def test_a_reference_to_nothing_is_refused(client: openai.OpenAI) -> None:
    for item_id in ("rs_1", "msg_" + "0" * 32):
        said = [{"type": "item_reference", "id": item_id}, user("hi")]
        with pytest.raises(openai.NotFoundError):
            create(client, input=said)
