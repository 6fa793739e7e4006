"""The account's works (spec: Work, listWork, getWork). Works of others are read, never changed."""

from __future__ import annotations

from contextlib import suppress

from agentpost.domain.limits import WORK_FILES_MAX, WORK_LIST_DEFAULT, WORK_LIST_MAX
from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import Probe, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    expect_status,
    names_field,
    refused,
    require,
)


def listing(probe: Probe, query: str = "") -> Exchange:
    """`GET /v1/work`."""
    return probe.caller.call("GET", f"/v1/work{query}")


def fields(probe: Probe) -> None:
    exchange = listing(probe)
    page = expect_status(exchange, 200)
    shaped(exchange, shapes.WORK_LIST, page)
    count = len(page["data"])
    require(exchange, count <= WORK_LIST_DEFAULT, f"up to {WORK_LIST_DEFAULT} works", count)


def limit_counts(probe: Probe) -> None:
    for limit in (1, WORK_LIST_MAX):
        exchange = listing(probe, f"?limit={limit}")
        count = len(expect_status(exchange, 200).get("data") or [])
        require(exchange, count <= limit, f"up to {limit} works", count)


def limit_bounds(probe: Probe) -> None:
    for limit in ("0", str(WORK_LIST_MAX + 1), "-1", "many"):
        names_field(listing(probe, f"?limit={limit}"), "limit")


def one(probe: Probe) -> None:
    exchange = probe.caller.call("GET", f"/v1/work/{_some_work(probe)['work_id']}")
    work = expect_status(exchange, 200)
    shaped(exchange, shapes.WORK, work)
    count = len(work["files"])
    require(exchange, count <= WORK_FILES_MAX, f"up to {WORK_FILES_MAX} files", count)


def pages(probe: Probe) -> None:
    path = f"/v1/work/{_some_work(probe)['work_id']}"
    first = probe.caller.call("GET", path)
    text = str(usable(first, 200).get("text"))
    if len(text) < 2:
        raise NotChecked("the work has no text")
    half = len(text) // 2
    exchange = probe.caller.call("GET", f"{path}?from_char={half}")
    rest = str(expect_status(exchange, 200).get("text"))
    require(exchange, rest.startswith(text[half:]), f"the text from character {half}", rest)


def from_char_bounds(probe: Probe) -> None:
    work_id = _some_work(probe)["work_id"]
    for start in ("-1", "one"):
        exchange = probe.caller.call("GET", f"/v1/work/{work_id}?from_char={start}")
        names_field(exchange, "from_char")


def unknown(probe: Probe) -> None:
    refused(probe.caller.call("GET", f"/v1/work/wrk_{probe.nonce}"), 404, "not_found")


def _some_work(probe: Probe) -> Json:
    """The work this probe started, if the agent did, else the newest of the account."""

    def make() -> Json:
        with suppress(NotChecked):  # without it, the account may have some all the same
            probe.job_done()
        works: list[Json] = usable(listing(probe), 200).get("data") or []
        if not works:
            raise NotChecked("the account has no work, and the agent started none")
        return works[0]

    return probe.sample("work", make)


GROUP = Group(
    "work",
    "the account's works",
    (
        Check("fields", "Works are listed with every field, 20 at the most unless asked.",
              "Work", fields),
        Check("limit-counts", "limit says how many.", "listWork", limit_counts),
        Check("limit-bounds", "limit is 1 to 50.", "Limits", limit_bounds),
        Check("one", "A work is read with every field and up to 8 files.", "Work", one),
        Check("pages", "from_char says where its text begins.", "getWork", pages),
        Check("from-char-bounds", "from_char is a whole number, 0 or more.", "getWork",
              from_char_bounds),
        Check("unknown", "An unknown work is not_found.", "getWork", unknown),
    ),
    sends=("job",),
)  # fmt: skip
