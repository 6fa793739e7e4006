"""Bodies with more values than anything of the API has (design: Input)."""

import json
import time
from collections.abc import Callable

import pytest

from agentpost.api.body import has_too_many_values
from agentpost.domain.limits import BODY_VALUES_MAX
from tests.e2e.raw import head, raw
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT

MANY, SIZE = BODY_VALUES_MAX + 2, 4_000_000
ODD_TEXT = 'a,b"c\\,"\\\\,\u2003'


@pytest.mark.parametrize(
    "make_value",
    [
        lambda: [0] * MANY,
        lambda: [[]] * MANY,
        lambda: [ODD_TEXT] * MANY,
        lambda: {f"{ODD_TEXT}{n}": ODD_TEXT for n in range(MANY)},
        lambda: {"a": [[0] * (MANY // 2), {"b": [0] * (MANY // 2)}]},
        lambda: [json.loads("[" * 60 + "]" * 60)] * (MANY // 60),
        lambda: [{"[": {"{": ODD_TEXT}}] * (MANY // 3 + 1),
    ],
    ids=range(7),
)
def test_many_values_are_counted_on_all_levels(make_value: Callable[[], object]) -> None:
    value = make_value()
    for text in (json.dumps(value), json.dumps(value, indent=0, ensure_ascii=False)):
        assert has_too_many_values(text.encode())


@pytest.mark.parametrize(
    "make_value",
    [
        lambda: [0] * BODY_VALUES_MAX,
        lambda: [[]] * (BODY_VALUES_MAX // 2),
        lambda: {f"{ODD_TEXT}{n}": ODD_TEXT for n in range(BODY_VALUES_MAX)},
        lambda: {"message": "," * SIZE},
        lambda: {"message": '",' * (SIZE // 4)},
        lambda: {"message": "\\," * (SIZE // 4), "files": [{"name": ",", "base64": "[{" * MANY}]},
    ],
    ids=range(6),
)
def test_commas_and_brackets_in_text_are_no_values(make_value: Callable[[], object]) -> None:
    assert not has_too_many_values(json.dumps(make_value()).encode())


@pytest.mark.parametrize(
    "make_data",
    [
        lambda: b'"' * SIZE + b"," * MANY,
        lambda: b'"' + b'\\",' * (SIZE // 3),
        lambda: b"\\" * SIZE + b"," * MANY,
        lambda: b'",' * (SIZE // 2),
        lambda: b'{"' + b"," * SIZE,
        lambda: b"," * SIZE,
    ],
    ids=range(6),
)
def test_a_body_that_is_no_json_is_judged_as_quickly(make_data: Callable[[], bytes]) -> None:
    data = make_data()
    began = time.process_time()
    has_too_many_values(data)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("item", [b"[]", b'"ab"'])
def test_such_a_body_is_refused_and_holds_up_nobody(plain_server: AgentServer, item: bytes) -> None:
    body = b'{"message": "x", "more": [' + (item + b",") * (SIZE // (len(item) + 1)) + b"0]}"
    answer = raw(plain_server, head("POST", "/v1/messages", f"Content-Length: {len(body)}") + body)
    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
    [problem] = answer.body["problems"]
    assert problem == {"field": None, "problem": "the body holds more than 15,000 values"}
    assert answer.seconds < PROMPT
