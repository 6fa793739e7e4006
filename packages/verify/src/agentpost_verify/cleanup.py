"""Delete what a probe created: webhook endpoints, and the works its messages started.

Messages stay until the server's retention ends: the API has no way to delete one. Deleting a work
is an addition of agentpost; where it is missing, the work stays too. So does a work that may be
older than the probe. Everything that stays is reported.
"""

from collections.abc import Iterator
from urllib.parse import quote

from agentpost_verify.answers import NOT_PROVED, Exchange, Gone, objects_of
from agentpost_verify.probe import WORK_LIST_MAX, WORKS_PATH, Probe, works_of


def leave(probe: Probe) -> list[str]:
    """Remove what can be removed; the ids of what is left behind. What
    cannot be asked for stays, and the rest is taken away all the same."""
    return list(_Leaving(probe).left_behind())


def is_new_work(work_id: str, before: list[str], now: list[str]) -> bool:
    """Whether a work came into being between two lists of works.

    A job may run in any standing work of the account, and the list gives the newest only: a work
    that was not in the first list may be an old one from below its end, or one no list ever shows.
    A list that was cut off proves newness only where ids sort by time, as agentpost's do: it must
    be sorted so, the id come after all of it, and the work stand before all of it.
    """
    if work_id in before or work_id not in now:
        return False
    if len(before) < WORK_LIST_MAX:
        return True
    is_newest = before == sorted(before, reverse=True) and work_id > before[0]
    places = [now.index(old) for old in before if old in now]
    return is_newest and now.index(work_id) < min(places, default=0)


class _Leaving:
    """Once nobody answers, nothing more is asked: each attempt to connect takes its time."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._gone = False

    def left_behind(self) -> Iterator[str]:
        for endpoint_id in self._endpoints():
            if not self._remove("webhooks", endpoint_id):
                yield endpoint_id
        works = list(dict.fromkeys(self._works()))
        before = self._probe.works_before if works else None
        exchange = self._request("GET", WORKS_PATH) if before is not None else None
        now = works_of(exchange) if exchange is not None else None
        for work_id in works:
            is_ours = bool(before is not None and now and is_new_work(work_id, before, now))
            if not is_ours or not self._remove("work", work_id):
                yield work_id

    def _endpoints(self) -> list[str]:
        """Also those whose creation was not answered, as after Ctrl-C."""
        exchange = self._request("GET", "/v1/webhooks")
        endpoints = objects_of(exchange.json, "data") if exchange is not None else []
        ours = [each for each in endpoints if self._probe.nonce in str(each.get("description"))]
        ids = [each["id"] for each in ours if isinstance(each.get("id"), str)]
        return list(dict.fromkeys([*self._probe.endpoints, *ids]))

    def _request(self, method: str, path: str) -> Exchange | None:
        """None when there is no answer to go by."""
        if self._gone:
            return None
        try:
            return self._probe.call(method, path)
        except NOT_PROVED as error:
            self._gone = isinstance(error, Gone)
            return None

    def _remove(self, resource: str, resource_id: str) -> bool:
        """Whether it is gone. The id comes from an answer and stays one segment of the path."""
        path = f"/v1/{resource}/{quote(resource_id, safe='', errors='replace')}"
        exchange = self._request("DELETE", path)
        if exchange is None or exchange.status in (200, 204):
            return exchange is not None
        reading = self._request("GET", path) if exchange.error == "not_found" else None
        return reading is not None and reading.status == 404

    def _works(self) -> Iterator[str]:
        """The works that the messages' jobs run in, as far as is known now. Never one that was
        seen before, or that a message joined: that would be somebody else's."""
        for message_id, message in list(self._probe.messages.items()):
            if message.get("final") is not True:
                self._request("GET", f"/v1/messages/{quote(message_id, safe='', errors='replace')}")
            for job in objects_of(self._probe.messages[message_id], "jobs"):
                is_run = job.get("kind") == "execution" and job.get("role") == "execution"
                work_id = job.get("work_id") if is_run else None
                if isinstance(work_id, str) and work_id not in (self._probe.works_before or []):
                    yield work_id
