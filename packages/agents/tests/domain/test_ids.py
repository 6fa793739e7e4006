"""Ids: a prefix that names the kind and a tail that sorts by time."""

import pytest
from hypothesis import given, strategies as st

from agentpost.domain import ids

NOW = 1_800_000_000_000_000
ENTROPY = bytes(range(9))


@pytest.mark.rule("Message.id", "Job.job_id", "Upload.upload_id", "WebhookEndpoint.id")
def test_prefixes_of_the_contract() -> None:
    public = [ids.MESSAGE, ids.JOB, ids.REFUSAL, ids.UPLOAD, ids.ENDPOINT, ids.EVENT, ids.REQUEST]
    assert public == ["msg_", "exe_", "ref_", "up_", "whe_", "evt_", "req_"]


def test_an_id_is_prefix_and_32_hex_digits() -> None:
    assert ids.compose(ids.MESSAGE, NOW, ENTROPY) == "msg_06651728988000000102030405060708"
    assert ids.is_id(ids.MESSAGE, ids.compose(ids.MESSAGE, NOW, ENTROPY))


@given(st.integers(0, 2**56 - 1), st.integers(0, 2**56 - 1), st.binary(min_size=9, max_size=9))
def test_ids_sort_by_time(one: int, other: int, entropy: bytes) -> None:
    first = ids.compose(ids.JOB, one, entropy)
    second = ids.compose(ids.JOB, other, entropy)
    assert (first < second) == (one < other)


def test_anything_else_is_no_id() -> None:
    others = [
        "",
        "msg_",
        "msg_" + "0" * 31,
        "msg_" + "0" * 33,
        "msg_" + "0" * 31 + "g",
        "msg_" + "A" * 32,
        "exe_" + "0" * 32,
        "MSG_" + "0" * 32,
        " msg_" + "0" * 32,
        "msg_" + "0" * 32 + "\n",
        "msg_" + "٠" * 32,  # digits, but not ours
    ]
    assert [text for text in others if ids.is_id(ids.MESSAGE, text)] == []
