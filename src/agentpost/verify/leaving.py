"""Taking away what a visit has made: webhook endpoints, and the works its messages started.

Messages stay until the server's retention ends: the API has no way to delete one. Deleting a work
is an addition of agentpost; where it is missing, the work stays too. What stays is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentpost.verify.exchange import Exchange
from agentpost.verify.verdicts import Json, NotProved
from agentpost.verify.visit import Visit


def leave(visit: Visit) -> list[str]:
    """Remove what can be removed; the ids of what could not be."""
    endpoints = [(each, f"/v1/webhooks/{each}") for each in visit.made.endpoints]
    works = [(each, f"/v1/work/{each}") for each in dict.fromkeys(_works(visit))]
    return [each for each, path in endpoints + works if not _gone(visit, path)]


def _gone(visit: Visit, path: str) -> bool:
    try:
        exchange: Exchange = visit.caller.call("DELETE", path)
    except NotProved:
        return False
    body = exchange.json()
    missing = isinstance(body, dict) and body.get("error") == "not_found"
    known = missing and visit.caller.call("GET", path).status == 404
    return exchange.status in (200, 204) or known


def _works(visit: Visit) -> Iterator[str]:
    """The works that the messages' jobs opened, as far as is known now. Never one that was there
    before, or that a message joined: that would be somebody else's."""
    for message_id, message in list(visit.made.messages.items()):
        latest = message
        if message.get("final") is not True:
            try:
                visit.read(message_id)
            except NotProved:
                continue
            latest = visit.made.messages[message_id]
        for job in latest.get("jobs") or []:
            if isinstance(job, dict) and _opened_work(job):
                work_id = job.get("work_id")
                if isinstance(work_id, str) and work_id not in (visit.made.works_before or ()):
                    yield work_id


def _opened_work(job: Json) -> bool:
    return job.get("kind") == "execution" and job.get("role") == "execution"
