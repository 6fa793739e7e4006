"""What an answer to a typed question has to be (design: Typed questions)."""

from typing import Any

import pytest

from agentpost.domain import answers
from agentpost.domain.answers import AnswerFormat

CHOICES = ("Bar", "Line", "No chart")


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Bar", "Bar"),
        (" bar\n", "Bar"),
        ("NO CHART", "No chart"),
        ("bars", None),
        ("", None),
        ("No  chart", None),
    ],
)
def test_a_choice_is_named_whatever_its_case(text: str, choice: str | None) -> None:
    assert answers.find_choice(CHOICES, text) == choice


def test_letters_that_fold_into_several_are_compared_too() -> None:
    assert answers.find_choice(("Straße", "Weg"), "STRASSE") == "Straße"


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ([], "1 to 50"),
        ([str(n) for n in range(51)], "1 to 50"),
        (["a", " "], "blank"),
        (["a", "b" * 201], "200"),
        (["Yes", "yes "], "differ"),
        (["a\0"], "U\\+0000"),
        (["a", 1], "list of texts"),
        ("ab", "list of texts"),
        ({"a": 1}, "list of texts"),
    ],
)
def test_wrong_choices_are_refused(choices: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        answers.checked_choices(choices)


def test_choices_lose_the_white_space_around_them() -> None:
    assert answers.checked_choices(["  a ", "b" * 200]) == ("a", "b" * 200)


@pytest.mark.parametrize("wanted", [AnswerFormat(choices=CHOICES), AnswerFormat(schema={"a": 1})])
def test_a_format_is_stored_and_read(wanted: AnswerFormat) -> None:
    assert AnswerFormat.from_stored(wanted.json()) == wanted


@pytest.mark.parametrize(
    ("value", "text"),
    [(" bar ", "bar"), ({"a": [1, None]}, '{"a": [1, null]}'), (2.5, "2.5"), (True, "true")],
)
def test_an_answer_is_the_text_of_its_message(value: Any, text: str) -> None:
    assert answers.as_text(value) == text
