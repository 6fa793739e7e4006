"""Delete what a probe created: webhook endpoints, and the works its messages started.

Messages stay until the server's retention ends: the API has no way to delete one. Deleting a work
is an addition of agentpost; where it is missing, the work stays too. So does a work that may be
older than the probe. Everything that stays is reported.
"""

from collections.abc import Iterator
from urllib.parse import quote

from agentpost_verify.answers import NOT_PROVED, Exchange, Gone, objects_of
from agentpost_verify.probe import Probe
from agentpost_verify.works import PATH, works_of


def leave(probe: Probe) -> list[str]:
    """Remove what can be removed; the ids of what is left behind. What
    cannot be asked for stays, and the rest is taken away all the same."""
    return list(_Leaving(probe).left_behind())


class _Leaving:
    """Once nobody answers, nothing more is asked: each attempt to connect takes its time."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._created = probe.created
        self._gone = False

    def left_behind(self) -> Iterator[str]:
        for endpoint_id in [*self._created.endpoints, *self._unanswered_endpoints()]:
            if not self._remove("webhooks", endpoint_id):
                yield endpoint_id
        works = list(dict.fromkeys(self._works()))
        before = self._created.works_before
        exchange = self._request("GET", PATH) if works and before is not None else None
        now = works_of(exchange) if exchange is not None else None
        for work_id in works:
            is_ours = before is not None and now is not None and before.certainly_new(work_id, now)
            if not is_ours or not self._remove("work", work_id):
                yield work_id

    def _unanswered_endpoints(self) -> list[str]:
        """Endpoints of this probe whose creation was not answered, as after Ctrl-C."""
        exchange = self._request("GET", "/v1/webhooks") if self._created.unanswered else None
        endpoints = objects_of(exchange.json, "data") if exchange is not None else []
        ids = [e.get("id") for e in endpoints if self._probe.nonce in str(e.get("description"))]
        return [
            each for each in ids if isinstance(each, str) and each not in self._created.endpoints
        ]

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
        before = self._created.works_before
        for message_id, message in list(self._created.messages.items()):
            if message.get("final") is not True:
                self._request("GET", f"/v1/messages/{quote(message_id, safe='', errors='replace')}")
            for job in objects_of(self._created.messages[message_id], "jobs"):
                is_run = job.get("kind") == "execution" and job.get("role") == "execution"
                work_id = job.get("work_id") if is_run else None
                if isinstance(work_id, str) and (before is None or work_id not in before.ids):
                    yield work_id
