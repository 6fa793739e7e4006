"""When two POSTs are the same (spec: createMessage 2; design: Idempotency)."""

import pytest
from hypothesis import example, given, strategies as st

from agentpost.domain.limits import REPEAT_SECONDS
from agentpost.domain.times import SECOND
from agentpost.messages.idempotency_rules import Attempt, fingerprint, key_of


@pytest.mark.rule("createMessage.Idempotency-Key")
@pytest.mark.parametrize(
    ("header", "key"),
    [
        (None, None),
        ("", None),
        ("k", "k"),
        (" \t", None),
        (" k k\t", "k k"),
        (" " * 200 + "k" * 129, "k" * 128),
        ("k" * 128, "k" * 128),
        ("k" * 129, "k" * 128),
        ("k" * 128 + "a", "k" * 128),
    ],
)
def test_keys_are_cut_and_empty_ones_are_none(header: str | None, key: str | None) -> None:
    assert key_of(header) == key


@pytest.mark.rule("createMessage 2")
def test_the_same_body_is_a_replay() -> None:
    """An upload named twice counts once (design: Input)."""
    file = {"name": "a.csv", "url": None, "base64": "YQ==", "content_type": "text/csv"}
    first = fingerprint("hello", [file], ["up_1", "up_2", "up_1"])
    assert first == fingerprint("hello", [dict(reversed(file.items()))], ["up_1", "up_2"])


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
bodies = st.tuples(
    texts,
    st.lists(st.fixed_dictionaries({"name": texts, "url": texts}), max_size=2),
    st.lists(texts, max_size=3, unique=True),
)


@pytest.mark.rule("createMessage 2")
@given(bodies, bodies)
@example(("hello", [], ["up_1", "up_2"]), ("hello", [], ["up_2", "up_1"]))
@example(('["hello",[],["up_1"]]', [], []), ("hello", [], ["up_1"]))
@example(("up_1", [], []), ("", [], ["up_1"]))
def test_fingerprints_are_equal_exactly_when_the_bodies_are(
    one: tuple[str, list[dict[str, str]], list[str]],
    other: tuple[str, list[dict[str, str]], list[str]],
) -> None:
    """Message, files and upload_ids are what makes a body the same."""
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


WINDOW = REPEAT_SECONDS * SECOND
FIRST, REPEAT = Attempt("t", "b", 0, arrived_at=100), Attempt("t", "b", 1, arrived_at=100)


@pytest.mark.parametrize(
    ("attempt", "made_by", "created_at", "now", "is_of"),
    [
        (REPEAT, FIRST, 90, 200, True),
        (REPEAT, REPEAT, 90, 200, True),
        (REPEAT, FIRST, 90, 90 + WINDOW - 1, True),
        (REPEAT, FIRST, 90, 90 + WINDOW, False),
        (Attempt("t", "b", 2, 0), FIRST, 90, 90 + WINDOW, True),
        (Attempt("t", "b", 2, 0), FIRST, 90, 90 + 2 * WINDOW, False),
        (FIRST, FIRST, 99, 200, False),
        (FIRST, FIRST, 150, 200, False),
        (FIRST, REPEAT, 99, 200, False),
        (FIRST, REPEAT, 100, 200, True),
    ],
)
def test_which_message_stands_for_an_attempt(
    attempt: Attempt, made_by: Attempt, created_at: int, now: int, is_of: bool
) -> None:
    """One row for each edge: a repeat in its time; a first attempt that was overtaken."""
    assert attempt.is_of(made_by.fingerprint, created_at, now) is is_of


def test_the_keys_of_equal_calls_follow_one_another() -> None:
    repeat = Attempt("a" * 64, "b" * 64, 1, 0)
    first = repeat.key_after(None)
    assert first < repeat.key_after(first)
    assert first.startswith(repeat.prefix)
    assert key_of(first) != first, "no caller can name it"
    other = Attempt("a" * 64, "c" * 64, 0, 0)
    assert not other.key_after(None).startswith(repeat.prefix)
