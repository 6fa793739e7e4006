"""One run: clients and faults for a while, then rest, then the checks and a report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import httpx2

from tests.chaos.checks import findings
from tests.chaos.clients import Client, Json, Sent
from tests.chaos.faults import harm
from tests.chaos.targets import Target
from tests.e2e.receivers import Delivery, receiving
from tests.e2e.server import KEY

REST_SECONDS = 180.0
"""For everything to come to its end once nothing fails any more."""


@dataclass(slots=True)
class Report:
    """What was done, and ``found``: what does not hold."""

    seed: int
    where: str
    messages: int = 0
    jobs: int = 0
    lost_answers: int = 0
    deliveries: int = 0
    faults: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.where}, seed {self.seed}",
            f"  {self.messages} messages with {self.jobs} jobs",
            f"  {self.lost_answers} calls without an answer, {self.deliveries} webhook calls",
            *(f"  {count} x {fault}" for fault, count in sorted(Counter(self.faults).items())),
        ]
        lines += [f"  FOUND: {line}" for line in self.found]
        return "\n".join(lines + ([] if self.found else ["  everything holds"]))


def run(
    folder: Path,
    *,
    roles: Sequence[str],
    seed: int,
    faults: Sequence[str],
    seconds: float,
    clients: int = 3,
    pause: float = 0.5,
    faults_max: int = 1_000_000,
) -> Report:
    """Make faults of these kinds for so long, or so many, while clients work.

    ``roles``: of the nodes; see `Target`.
    """
    rng = Random(f"{seed} when")
    where = f"{len(roles)} nodes ({', '.join(roles)}) on PostgreSQL"
    report = Report(seed, "one server on SQLite" if len(roles) == 1 else where)
    target = Target(folder, roles, seed, faults)
    try:
        with receiving() as receiver:
            first = target.nodes[0].url
            secret = _call(first, "POST", "/v1/webhooks", {"url": receiver.url})["secret"]
            before = _call(first, "GET", "/v1/me")["credits"]
            working = [Client(f"c{n}", target.urls, seed, pause) for n in range(clients)]
            for client in working:
                client.start()
            until = time.monotonic() + seconds
            while time.monotonic() < until and len(target.done) < faults_max:
                time.sleep(rng.random() * min(2.0, seconds / 4))
                harm(target, faults[len(target.done) % len(faults)])
            target.wait_until_ready()
            _rest(working)
            report.faults, report.messages = target.done, sum(len(c.sent) for c in working)
            all_sent = [sent for client in working for sent in client.sent]
            report.jobs = sum(sent.has_job for sent in all_sent)
            report.lost_answers = sum(client.lost_answers for client in working)
            after = _call(first, "GET", "/v1/me")["credits"]
            report.found = [line for client in working for line in client.refused] + target.wrong
            checked = _settled(all_sent, receiver.got, secret, target, (before, after))
            report.found += checked
            report.deliveries = len(receiver.got)
    finally:
        target.end()
    return report


def _rest(working: Sequence[Client]) -> None:
    """Clients get their last answers; then each message is looked at until it is final."""
    until = time.monotonic() + REST_SECONDS
    for client in working:
        client.stop()
    for client in working:
        client.join(max(until - time.monotonic(), 0.1))
    for client in working:
        for sent in client.sent:
            # At least one look each, however many there are and however slow the machine is.
            while not (client.look(sent) and sent.seen[-1]["final"]) and time.monotonic() < until:
                time.sleep(0.1)


def _settled(
    all_sent: Sequence[Sent],
    got: Sequence[Delivery],
    secret: str,
    target: Target,
    balances: tuple[float, float],
) -> list[str]:
    """The findings, once they stay: the last webhooks may still be on their way."""
    until = time.monotonic() + REST_SECONDS / 3
    while True:
        found = findings(all_sent, list(got), secret, target.starts(), balances)
        if not found or time.monotonic() > until or not any("event" in line for line in found):
            return found
        time.sleep(0.5)


def _call(url: str, method: str, path: str, body: Json | None = None) -> Json:
    headers = {"Authorization": f"Bearer {KEY}"}
    answer = httpx2.request(method, url + path, json=body, headers=headers, trust_env=False)
    assert answer.status_code in (200, 201), answer.text
    read: Json = answer.json()
    return read
