"""What has to hold of what clients saw, what receivers got and what steps left outside."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

from tests.chaos.clients import JOB_COST, STEPS, Json, Sent
from tests.e2e.receivers import Delivery


def findings(
    all_sent: Sequence[Sent],
    got: Sequence[Delivery],
    secret: str,
    starts: Sequence[str],
    balances: tuple[float, float],
) -> list[str]:
    """A line for each thing that does not hold; ``balances``: before and after."""
    found: list[str] = []
    for sent in all_sent:
        found += _of_message(sent)
    found += _of_steps(all_sent, starts)
    found += _of_webhooks(all_sent, got, secret)
    spent = sum(sent.seen[-1]["credits_used"] for sent in all_sent if sent.seen)
    if abs(balances[0] - balances[1] - spent) > 1e-6:
        found.append(f"{balances[0] - balances[1]} credits are gone, messages used {spent}")
    return found


def _of_message(sent: Sent) -> Iterable[str]:
    """One key, one message; it ends as asked; states and logs only go forward."""
    if len(set(sent.ids)) != 1:
        yield f"{sent.name}: one key gave {sorted(set(sent.ids))}"
        return
    last = sent.seen[-1]
    if not last["final"] or last["status"] != "completed":
        yield f"{sent.name}: {last['id']} is {last['status']}, final {last['final']}"
        return
    if sent.has_job and last["credits_used"] != JOB_COST:
        yield f"{sent.name}: it used {last['credits_used']} credits, not {JOB_COST}"
    if [job["status"] for job in last["jobs"]] != ["completed"] * sent.has_job:
        yield f"{sent.name}: its jobs are {last['jobs']}"
    versions = [shown["version"] for shown in sent.seen]
    if versions != sorted(versions):
        yield f"{sent.name}: its versions went back: {versions}"
    ends = [shown["final"] for shown in sent.seen]
    if ends != sorted(ends):
        yield f"{sent.name}: it was final and then was not"
    log: list[Json] = []
    for later in map(_without_links, sent.logs):
        if later[: len(log)] != log:
            yield f"{sent.name}: its log was changed"
        log = later
    if [entry["seq"] for entry in log] != list(range(1, len(log) + 1)):
        yield f"{sent.name}: its log has gaps"
    reported = [entry["step"] for entry in log if entry["type"] == "progress"]
    wanted = [f"{sent.name}.{n}" for n in range(STEPS)] + ["Wrote out.txt"]
    if reported != (wanted if sent.has_job else []):
        yield f"{sent.name}: its log tells {reported}"


def _without_links(log: list[Json]) -> list[Json]:
    """Links are signed anew each time."""
    return [
        {**entry, "files": [{**file, "url": ""} for file in entry.get("files") or []]}
        for entry in log
    ]


def _of_steps(all_sent: Sequence[Sent], starts: Sequence[str]) -> Iterable[str]:
    """Each step has begun, always with one key, and never after a later one had begun."""
    keys: dict[str, set[str]] = defaultdict(set)
    order: dict[str, list[int]] = defaultdict(list)
    for line in starts:
        step, _, key = line.partition(" ")
        owner, _, number = step.rpartition(".")
        keys[step].add(key)
        order[owner].append(int(number))
    for sent in all_sent:
        if not sent.has_job:
            continue
        ran = order[sent.name]
        if set(ran) != set(range(STEPS)):
            yield f"{sent.name}: of its steps began {sorted(set(ran))}"
        if ran != sorted(ran):
            yield f"{sent.name}: a recorded step began again: {ran}"
    yield from (f"{step} had {len(found)} keys" for step, found in keys.items() if len(found) > 1)


def _of_webhooks(all_sent: Sequence[Sent], got: Sequence[Delivery], secret: str) -> Iterable[str]:
    """Every message's end arrived, signed, and one event always says the same."""
    said: dict[str, Json] = {}
    ended: Counter[str] = Counter()
    for delivery in got:
        if not _is_signed(delivery, secret):
            yield f"{delivery.id}: its signature is wrong"
            continue
        event = json.loads(delivery.body)
        first = said.setdefault(delivery.id, event)
        if (first["type"], first["data"]["object"]) != (event["type"], event["data"]["object"]):
            yield f"{delivery.id} says two things"
    for event in said.values():
        data = event["data"]
        if event["type"] == "job.completed":
            ended["job of " + data["message_id"]] += 1
        elif data["object"] == "message" and data["final"]:
            ended[data["id"]] += 1
    for sent in all_sent:
        if sent.ids and not ended[sent.ids[0]]:
            yield f"{sent.name}: no event reported its end"
        if sent.ids and sent.has_job and ended["job of " + sent.ids[0]] != 1:
            yield f"{sent.name}: {ended['job of ' + sent.ids[0]]} events reported its job's end"


def _is_signed(delivery: Delivery, secret: str) -> bool:
    """Not by `Delivery.verified`, which refuses what came more than five minutes ago."""
    at = datetime.fromtimestamp(int(delivery.headers["webhook-timestamp"]), UTC)
    wanted = Webhook(secret).sign(delivery.id, at, delivery.body.decode())
    return wanted in delivery.headers["webhook-signature"].split()
