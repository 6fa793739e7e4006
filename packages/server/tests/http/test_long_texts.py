"""Large bodies taken apart: whatever the pieces, together they are what was sent (design:
Bodies).
"""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentpost.api import long_texts
from agentpost.api.long_texts import PIECE_BYTES, LongText, TakenApart, TooMuchElse
from agentpost.domain.limits import BODY_REST_BYTES_MAX

TOKEN = "text_0"
CHARACTERS = 'ab"\\\n/é€😀\x01 ,:[]{}'
TIMES = (1, 40, 700, PIECE_BYTES // 3)
texts = st.builds(
    lambda text, times: text * times, st.text(CHARACTERS, max_size=9), st.sampled_from(TIMES)
)
values = st.recursive(
    st.none() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def taken_apart(data: bytes, step: int) -> TakenApart:
    made = TakenApart(TOKEN)
    for at in range(0, len(data), step):
        made.feed(data[at : at + step])
    made.end()
    return made


def together(value: Any, made: TakenApart) -> Any:
    if isinstance(value, str):
        return "".join(made.texts[value].pieces()) if value in made.texts else value
    if isinstance(value, list):
        return [together(item, made) for item in value]
    if isinstance(value, dict):
        return {together(n, made): together(v, made) for n, v in value.items()}
    return value


@settings(max_examples=60)
@given(values, st.booleans(), st.sampled_from([7, 4_096, 65_536, 10**9]))
def test_a_body_taken_apart_goes_together_again(value: Any, ascii_only: bool, step: int) -> None:
    made = taken_apart(json.dumps(value, ensure_ascii=ascii_only).encode(), step)
    assert together(json.loads(bytes(made.rest)), made) == value
    assert max((len(p) for t in made.texts.values() for p in t.pieces()), default=0) <= PIECE_BYTES


def test_a_text_of_some_length_is_set_aside() -> None:
    made = taken_apart(json.dumps({"a": "x" * 8_193, "b": "y"}).encode(), 10**9)
    assert bytes(made.rest) == b'{"a": "text_00", "b": "y"}'


@pytest.mark.parametrize("ends", ['"', '\\"', "\\", "\\u12", "é"])
def test_a_body_may_end_anywhere(ends: str) -> None:
    made = taken_apart(('{"a": "' + "x" * 10_000 + ends).encode()[:-1], 100)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting|escape"):
        json.loads(bytes(made.rest))


def test_structure_has_its_limit() -> None:
    with pytest.raises(TooMuchElse):
        taken_apart(b"[" * (BODY_REST_BYTES_MAX + 1), 65_536)
    taken_apart(b'["' + b"x" * 3 * BODY_REST_BYTES_MAX, 65_536)


@pytest.mark.parametrize(
    ("data", "storable"),
    [
        ("x" * 100_000, True),
        ("x" * PIECE_BYTES + "\\u0000", False),
        ("x" * (PIECE_BYTES - 3) + "\\ud83d\\ude00", True),
        ("x" * (PIECE_BYTES - 6) + "\\ud83dx", False),
        ("\\ud83d", False),
    ],
)
def test_characters_that_no_database_stores_are_found(data: str, storable: bool) -> None:
    assert LongText([data.encode()]).examine() is storable


def test_half_a_surrogate_pair_that_no_escape_made_is_found() -> None:
    assert LongText([b"x\xed\xa0\x80"]).examine() is False


@pytest.mark.parametrize(
    "text", ["plain/+=" * 9_000, "é€😀" * 9_000, "\n\\" * 9_000, "a" * 9_000 + "é"]
)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_text_that_was_examined_is_the_same(text: str, ascii_only: bool) -> None:
    data = json.dumps(text, ensure_ascii=ascii_only).encode()[1:-1]
    long, digest = LongText([data]), hashlib.sha256(text.encode()).hexdigest()
    assert LongText([data]).sha256() == digest
    assert long.examine()
    assert "".join(long.pieces()) == text
    assert max(len(piece) for piece in long.pieces()) <= PIECE_BYTES
    assert long.sha256() == digest


def test_the_start_of_a_text_is_longer_than_a_piece() -> None:
    assert len(LongText([b"x" * 100_000]).start()) == long_texts.START_BYTES


@pytest.mark.parametrize("data", [b"x\n", b"\\x", b"\\", b"\\u12", b"\xff"])
def test_bytes_that_are_no_text_are_found(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of whichever kind
        LongText([b"a" * PIECE_BYTES + data]).examine()


@pytest.mark.parametrize("blanks", ["", " ", "\n\t " * 60_000])
@pytest.mark.parametrize("inner", ["", "a", "a b", "a" + " " * 98 + "b", "é" * 100])
def test_blanks_around_a_text_do_not_count(blanks: str, inner: str) -> None:
    data = json.dumps(blanks + inner + blanks).encode()[1:-1]
    assert LongText([data]).strip(100) == inner


@pytest.mark.parametrize("text", ["a" * 101, "a" + " " * 200_000 + "b", " a" * 51])
def test_a_long_text_is_too_long(text: str) -> None:
    assert LongText([text.encode()]).strip(100) is None


@pytest.mark.parametrize("at", [0, 1, PIECE_BYTES - 1, PIECE_BYTES])
def test_each_byte_is_judged_as_the_parser_of_the_whole_body_judges_it(at: int) -> None:
    for byte in (byte for byte in range(256) if byte != ord('"')):
        data = bytearray(b"x" * (PIECE_BYTES + 9))
        data[at] = byte
        try:
            json.loads(b'"%b"' % bytes(data))
        except ValueError:
            with pytest.raises(ValueError):  # noqa: PT011 - of whichever kind
                LongText([data]).examine()
        else:
            assert LongText([data]).examine()
