"""The account's works (spec: Work, listWork, getWork). Works of others are read, never changed."""

from contextlib import suppress

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer

WORK_LIST_DEFAULT = 20
WORK_FILES_MAX = 8


@pytest.fixture(scope="session")
def work_path(probe: Probe, request: pytest.FixtureRequest) -> str:
    """The route of the work this probe started, if the agent did, else the account's newest."""
    with suppress(pytest.skip.Exception):  # without it, the account may have some all the same
        request.getfixturevalue("job_done")
    works: list[Json] = probe.call("GET", "/v1/work").sample().get("data") or []
    if not works:
        pytest.skip("the account has no work, and the agent started none")
    return f"/v1/work/{works[0]['work_id']}"


def test_fields(probe: Probe) -> None:
    """Works are listed with every field, 20 at the most unless asked. (Work)"""
    page = probe.call("GET", "/v1/work").expect("200", shape=shapes.WORK_LIST)
    assert len(page["data"]) <= WORK_LIST_DEFAULT, f"up to {WORK_LIST_DEFAULT} works"


def test_limit_counts(probe: Probe) -> None:
    """limit says how many. (listWork)"""
    for limit in (1, 50):
        page = probe.call("GET", f"/v1/work?limit={limit}").expect("200")
        assert len(page.get("data") or []) <= limit, f"up to {limit} works"


test_limit_bounds = one_answer(
    "limit is 1 to 50. (Limits)",
    "400 invalid_request",
    *((f"GET /v1/work?limit={limit}", None, "limit") for limit in ("0", "51", "-1", "many")),
)


def test_one(probe: Probe, work_path: str) -> None:
    """A work is read with every field and up to 8 files. (Work)"""
    work = probe.call("GET", work_path).expect("200", shape=shapes.WORK)
    assert len(work["files"]) <= WORK_FILES_MAX, f"up to {WORK_FILES_MAX} files"


def test_pages(probe: Probe, work_path: str) -> None:
    """from_char says where its text begins. (getWork)"""
    text = str(probe.call("GET", work_path).sample().get("text"))
    if len(text) < 2:
        pytest.skip("the work has no text")
    half = len(text) // 2
    rest = str(probe.call("GET", f"{work_path}?from_char={half}").expect("200").get("text"))
    assert rest[: len(text) - half] == text[half:], f"the text from character {half}"


test_from_char_bounds = one_answer(
    "from_char is a whole number, 0 or more. (getWork)",
    "400 invalid_request",
    *((f"GET {{work_path}}?from_char={start}", None, "from_char") for start in ("-1", "one")),
)
test_unknown = one_answer(
    "An unknown work is not_found. (getWork)", "404 not_found", "GET /v1/work/wrk_{nonce}"
)
