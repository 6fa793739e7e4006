"""Clients that write down what they sent and got; the checks read nothing else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2

from tests.e2e.agents import Script
from tests.e2e.server import KEY

Json = dict[str, Any]
STEPS = 3
STEP_COST = 0.5
CHARGE = 0.25
JOB_COST = STEPS * STEP_COST + CHARGE
PATIENCE_SECONDS = 10.0
"""Of a client for one answer; then it sends the same again."""


def job_script(name: str) -> Script:
    """Steps in worker processes and on the agent loop, each leaving a line outside."""
    script: Script = []
    for n in range(STEPS):
        script.append(["step" if n % 2 else "step_here", f"{name}.{n}", STEP_COST])
        script.append(["progress", f"{name}.{n}"])
    return [*script, ["charge", CHARGE], ["write", "out.txt", name], ["return", f"{name} is done."]]


@dataclass(slots=True)
class Sent:
    """One message of a client: its key, what was asked, and every answer that came."""

    name: str
    has_job: bool
    ids: list[str] = field(default_factory=list)
    seen: list[Json] = field(default_factory=list)
    logs: list[list[Json]] = field(default_factory=list)

    @property
    def body(self) -> Json:
        script: Script = [["reply", f"{self.name} heard."]]
        if self.has_job:
            script.insert(0, ["start", "Work", job_script(self.name)])
        return {"message": json.dumps(script), "conversation": self.name}


class Client(threading.Thread):
    """Sends, repeats and looks until it is to stop, then until its last message is answered.

    Args:
        urls: of the nodes; each call goes to one of them by chance.
        pause: seconds between two messages.
    """

    def __init__(self, name: str, urls: Sequence[str], seed: int, pause: float) -> None:
        super().__init__(name=name, daemon=True)
        self._urls = urls
        self._rng = Random(f"{seed} {name}")
        self._pause = pause
        self._stopping = threading.Event()
        self._http = httpx2.Client(
            headers={"Authorization": f"Bearer {KEY}"}, timeout=PATIENCE_SECONDS, trust_env=False
        )
        self.sent: list[Sent] = []
        self.refused: list[str] = []
        """Answers that no fault explains."""
        self.lost_answers = 0

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            sent = Sent(f"{self.name}-{len(self.sent)}", has_job=self._rng.random() < 0.7)
            self.sent.append(sent)
            self._post(sent)
            old = self._rng.choice(self.sent)
            if self._rng.random() < 0.3:
                self._post(old)
            self.look(old)
            self._stopping.wait(self._pause * self._rng.random() * 2)

    def _post(self, sent: Sent) -> None:
        """Send it until there is an answer, always with the same key."""
        while True:
            answer = self._call("POST", "/v1/messages", sent.body, sent.name)
            if answer is not None:
                sent.ids.append(answer["id"])
                sent.seen.append(answer)
                return

    def look(self, sent: Sent) -> bool:
        """Read the message and its log; whether both were answered."""
        if not sent.ids:
            return False
        path = f"/v1/messages/{sent.ids[0]}"
        shown, page = self._call("GET", path), self._call("GET", f"{path}/events")
        if shown is not None:
            sent.seen.append(shown)
        if page is not None:
            sent.logs.append(page["data"])
        return shown is not None and page is not None

    def _call(self, method: str, path: str, body: Json | None = None, key: str = "") -> Json | None:
        headers = {"Idempotency-Key": key} if key else {}
        url = self._rng.choice(self._urls) + path
        try:
            answer = self._http.request(method, url, json=body, headers=headers)
        except httpx2.HTTPError:
            self.lost_answers += 1
            time.sleep(0.2)
            return None
        if answer.status_code >= 500:
            self.lost_answers += 1
            return None
        if answer.status_code not in (200, 201):
            self.refused.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
            raise SystemExit
        read: Json = answer.json()
        return read
