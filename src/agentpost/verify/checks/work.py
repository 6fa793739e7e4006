"""The account's works (spec: Work, listWork, getWork). Works of others are read, never changed."""

from __future__ import annotations

from contextlib import suppress

from agentpost.domain.limits import WORK_FILES_MAX, WORK_LIST_DEFAULT, WORK_LIST_MAX
from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    answered,
    names_field,
    refused,
    require,
)
from agentpost.verify.visit import Visit, usable


def listing(visit: Visit, query: str = "") -> Exchange:
    """`GET /v1/work`."""
    return visit.caller.call("GET", f"/v1/work{query}")


def fields(visit: Visit) -> None:
    exchange = listing(visit)
    page = answered(exchange, 200)
    shaped(exchange, shapes.WORK_LIST, page)
    count = len(page["data"])
    require(exchange, count <= WORK_LIST_DEFAULT, f"up to {WORK_LIST_DEFAULT} works", count)


def limit_counts(visit: Visit) -> None:
    for limit in (1, WORK_LIST_MAX):
        exchange = listing(visit, f"?limit={limit}")
        count = len(answered(exchange, 200).get("data") or [])
        require(exchange, count <= limit, f"up to {limit} works", count)


def limit_bounds(visit: Visit) -> None:
    for limit in ("0", str(WORK_LIST_MAX + 1), "-1", "many"):
        names_field(listing(visit, f"?limit={limit}"), "limit")


def one(visit: Visit) -> None:
    exchange = visit.caller.call("GET", f"/v1/work/{_some_work(visit)['work_id']}")
    work = answered(exchange, 200)
    shaped(exchange, shapes.WORK, work)
    count = len(work["files"])
    require(exchange, count <= WORK_FILES_MAX, f"up to {WORK_FILES_MAX} files", count)


def pages(visit: Visit) -> None:
    path = f"/v1/work/{_some_work(visit)['work_id']}"
    first = visit.caller.call("GET", path)
    text = str(usable(first, 200).get("text"))
    if len(text) < 2:
        raise NotChecked("the work has no text")
    half = len(text) // 2
    exchange = visit.caller.call("GET", f"{path}?from_char={half}")
    rest = str(answered(exchange, 200).get("text"))
    require(exchange, rest.startswith(text[half:]), f"the text from character {half}", rest)


def from_char_bounds(visit: Visit) -> None:
    work_id = _some_work(visit)["work_id"]
    for start in ("-1", "one"):
        exchange = visit.caller.call("GET", f"/v1/work/{work_id}?from_char={start}")
        names_field(exchange, "from_char")


def unknown(visit: Visit) -> None:
    refused(visit.caller.call("GET", f"/v1/work/wrk_{visit.nonce}"), 404, "not_found")


def _some_work(visit: Visit) -> Json:
    """The work this visit started, if the agent did, else the newest of the account."""

    def make() -> Json:
        with suppress(NotChecked):  # without it, the account may have some all the same
            visit.job_done()
        works: list[Json] = usable(listing(visit), 200).get("data") or []
        if not works:
            raise NotChecked("the account has no work, and the agent started none")
        return works[0]

    return visit.sample("work", make)


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
