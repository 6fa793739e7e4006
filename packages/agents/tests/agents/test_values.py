"""Values, function names and errors survive being recorded, or are refused with the place."""

import collections
import enum
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentpost.agents import File, JobFailed, StepFailed, values


def a_file(**changes: Any) -> File:
    known: dict[str, Any] = {
        "id": "file_1",
        "name": "Umsatz €.csv",
        "content_type": "text/csv",
        "kind": "data",
        "size": 12,
        "revision": '"abc"',
        "work_id": "work_1",
        "label": None,
        "blob": "b/1",
    }
    return File(**{**known, **changes})


class Colour(enum.StrEnum):
    RED = "red"


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
KEYS = TEXTS | st.sampled_from(["$file", "$$file", "$$$file", "$", "$files", "file"])
FILES = st.builds(a_file, id=TEXTS, name=TEXTS, label=st.none() | TEXTS, size=st.integers(0))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | FILES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40)
@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    text = values.dump(value)
    assert values.load(text, None) == value
    assert values.dump(values.load(text, None)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ({"b": 1, "a": (True, 1.0, "ß")}, '{"a":[true,1.0,"ß"],"b":1}'),
        (collections.OrderedDict(z=1, a=2), '{"a":2,"z":1}'),
        (Colour.RED, '"red"'),
        ({"$file": 1, "$$file": 2}, '{"$$$file":2,"$$file":1}'),
    ],
)
def test_the_text_is_canonical(value: Any, text: str) -> None:
    assert values.dump(value) == text


def test_a_file_is_read_through_the_source_given_at_loading() -> None:
    source: Any = object()  # stands where the runtime's source of bytes would
    recorded = values.dump({"in": [a_file(source=object(), local_path=Path("/tmp/x"))]})
    assert "/tmp/x" not in recorded
    file = values.load(recorded, source)["in"][0]
    assert file == a_file()
    assert file.source is source
    assert file.local_path is None


def test_only_a_worker_is_reported_where_a_file_lies() -> None:
    text = values.dump_local([a_file(local_path=Path("/tmp/x"))])
    assert values.load(text, None)[0].local == Path("/tmp/x")


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ({"rows": [0, {1}]}, TypeError, r"set at \$\.rows\[1\]"),
        (b"x", TypeError, r"bytes at \$ is not JSON; bytes go through write"),
        ({"a b": object()}, TypeError, r"object at \$\['a b'\]"),
        ([{3: 1}], TypeError, r"the key 3 at \$\[0\]"),
        ([math.nan], ValueError, r"nan at \$\[0\]"),
        ({"x": -math.inf}, ValueError, r"-inf at \$\.x"),
        (["a\0"], ValueError, r"\$\[0\] contains U\+0000"),
        ({"x": "\ud800"}, ValueError, r"\$\.x contains a lone surrogate"),
        ({"\ud800": 1}, ValueError, "lone surrogate"),
        (a_file(name="a\0"), ValueError, r"\$\.name contains U\+0000"),
        ("ß" * (512 * 1024), ValueError, "1048578 bytes"),
    ],
)
def test_a_value_that_cannot_be_recorded_is_refused(
    value: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        values.dump(value)


def test_the_largest_value_is_accepted() -> None:
    text = values.dump("x" * (values.VALUE_BYTES_MAX - 2))
    assert len(text) == values.VALUE_BYTES_MAX


def test_a_value_that_contains_itself_is_refused() -> None:
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(ValueError, match="contains itself"):
        values.dump(knot)


def test_a_fingerprint_tells_calls_apart_and_only_calls() -> None:
    base = values.identify("step", "m:f", [1, {"a": 1, "b": 2}])[0]
    assert base == values.identify("step", "m:f", (1, {"b": 2, "a": 1}))[0]
    others = [("step", ["m:f", [2]]), ("step", ["m:g", [1]]), ("write", ["m:f", [1]])]
    assert len({base, *(values.identify(name, *parts)[0] for name, parts in others)}) == 4


def test_a_fingerprint_takes_a_file_by_identity() -> None:
    base, _ = values.identify("step", a_file())
    assert base == values.identify("step", a_file(blob="elsewhere", label="new"))[0]
    assert base != values.identify("step", a_file(revision='"def"'))[0]


def plain(x: int) -> int:
    return x


class Holder:
    @staticmethod
    def static() -> None: ...

    def method(self) -> None: ...


unnamed = lambda: None  # noqa: E731


@pytest.mark.parametrize("fn", [plain, Holder.static, len, json.dumps])
def test_a_function_reference_leads_back(fn: Any) -> None:
    assert values.resolve(values.function_ref(fn)) is fn


def test_a_program_may_have_a_hyphen_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my-agent.py").write_text("def work(): return 7")
    monkeypatch.syspath_prepend(tmp_path)
    assert values.resolve("my-agent:work")() == 7


def _nested() -> Any:
    def inner() -> None: ...

    return inner


def _impostor() -> Any:
    inner = _nested()
    inner.__qualname__ = "plain"
    inner.__module__ = plain.__module__
    return inner


def _lost() -> Any:
    inner = _impostor()
    inner.__qualname__ = "not_there"
    return inner


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (unnamed, "lambda"),
        (_nested(), "inside another function"),
        (Holder().method, "bound method"),
        ([].append, "no import name"),
        (_impostor(), "names another object"),
        (_lost(), "not_there cannot be imported"),
    ],
)
def test_a_class_a_worker_could_not_import_is_refused(fn: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        values.function_ref(fn)


MAIN = """
from agentpost.agents import values
def mine(): ...
try:
    print(values.function_ref(mine))
except TypeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (["mine_alone.py"], "mine_alone:mine"),
        (["-m", "mine_alone"], "mine_alone:mine"),
        (["-P", "mine_alone.py"], "move it to a module of its own"),
        (["-c", MAIN], "move it to a module of its own"),
    ],
)
def test_a_function_of_the_started_program(tmp_path: Path, how: list[str], said: str) -> None:
    (tmp_path / "mine_alone.py").write_text(MAIN)
    done = subprocess.run(
        [sys.executable, *how], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said in done.stdout


@pytest.mark.parametrize("ref", ["nowhere.at_all:f", "json:nothing", "json:__name__", "json", ""])
def test_a_function_that_is_gone_is_missing(ref: str) -> None:
    with pytest.raises(values.MissingFunction):
        values.resolve(ref)


def test_a_module_that_fails_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fails_to_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(values.MissingFunction, match="division by zero"):
        values.resolve("fails_to_import:f")


class Demanding(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("bad"), ValueError, "bad"),
        (JobFailed("sorry"), JobFailed, "sorry"),
        (KeyError("x"), KeyError, "x"),
        (KeyError(3), KeyError, "3"),
        (OSError(2, "gone", "f"), OSError, "[Errno 2] gone: 'f'"),
        (Demanding(1, 2), StepFailed, "1 and 2"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), UnicodeError, "'utf-8' codec"),
        (json.JSONDecodeError("bad", "{", 1), ValueError, "bad: line 1"),
        (StopIteration("s"), StepFailed, "s"),
        (KeyboardInterrupt("k"), StepFailed, "k"),
        (Mute(), Mute, "Mute (its text could not be made)"),
        (ValueError("a\0\ud800"), ValueError, "a\ufffd\ufffd"),
    ],
)
def test_an_error_is_rebuilt(error: BaseException, kind: type[Exception], text: str) -> None:
    described = json.loads(json.dumps(values.describe_error(error)))
    rebuilt = values.rebuild_error(described)
    assert isinstance(rebuilt, kind)
    assert str(rebuilt.args[0]).startswith(text)
    again = values.describe_error(rebuilt)
    assert again["text"] == described["text"]


@pytest.mark.parametrize("kind", ["nowhere:E", f"{os.__name__}:getcwd", "builtins:dict", "x"])
def test_an_error_of_unknown_class_is_a_failed_step(kind: str) -> None:
    rebuilt = values.rebuild_error({"type": kind, "text": "why"})
    assert type(rebuilt) is StepFailed
    assert str(rebuilt) == "why"


def test_what_is_no_exception_is_never_made() -> None:
    """The name of the class may come from a process that a hostile file has taken over, and
    `subprocess.Popen` takes one text as well."""
    made: list[str] = []

    class Made:
        def __init__(self, text: str) -> None:
            made.append(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "Made", Made, raising=False)
        values.rebuild_error({"type": f"{values.__name__}:Made", "text": "x"})
    assert made == []


def test_a_known_error_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    error = values.known_error({"type": "colorsys:Odd", "text": "why"})
    assert (type(error).__name__, isinstance(error, StepFailed)) == ("Odd", True)
    assert "colorsys" not in sys.modules
    assert type(values.known_error({"type": "builtins:KeyError", "text": "k"})) is KeyError


def test_a_long_error_is_cut() -> None:
    described = values.describe_error(ValueError("x" * 20_000))
    assert len(described["text"]) == values.ERROR_TEXT_CHARS_MAX
