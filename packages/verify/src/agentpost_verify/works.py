"""Decide which works this run created and may therefore delete.

A job may run in any standing work of the account, and the list of works gives the newest only. So
a work that was not seen before is not yet a new one: with more works than the list gives, it may
be an old one from below its end, or one the list never shows.
"""

from dataclasses import dataclass

from agentpost_verify.answers import Exchange
from agentpost_verify.shapes import each, having, problems

WORK_LIST_MAX = 50
PATH = f"/v1/work?limit={WORK_LIST_MAX}"
"""The longest list of works there is."""


@dataclass(frozen=True, slots=True)
class Works:
    """The ids of one answer to `PATH`, in its order; ``complete``: the account had no others."""

    ids: tuple[str, ...]
    complete: bool

    def certainly_new(self, work_id: str, now: "Works") -> bool:
        """Whether a work came into being between this list and the list of ``now``.

        A list that was cut off proves it only where ids sort by time, as agentpost's do: this list
        itself must be sorted so, the id come after all of it, and the work stand before all of it.
        """
        if work_id in self.ids or work_id not in now.ids:
            return False
        if self.complete:
            return True
        sorts_by_time = list(self.ids) == sorted(self.ids, reverse=True)
        is_newest = work_id > max(self.ids)
        places = [now.ids.index(old) for old in self.ids if old in now.ids]
        return sorts_by_time and is_newest and now.ids.index(work_id) < min(places, default=0)


def works_of(exchange: Exchange) -> Works | None:
    """What an answer to `PATH` lists; None when it is no list of works (spec: Work)."""
    kind = having(data=each(having(text="work_id")))
    if exchange.status != 200 or any(problems(kind, exchange.json)):
        return None
    ids = tuple(item["work_id"] for item in exchange.json["data"])
    return Works(ids, len(ids) < WORK_LIST_MAX)
