"""Every check, a file for each resource; `GROUPS` is the order in which they are carried out."""

from __future__ import annotations

from typing import Final

from agentpost.verify.check import Group
from agentpost.verify.checks import (
    account,
    additions,
    authentication,
    deliveries,
    document,
    errors,
    events,
    every_answer,
    files,
    idempotency,
    jobs,
    messages,
    ownership,
    reading,
    uploads,
    webhooks,
    work,
)

GROUPS: Final[tuple[Group, ...]] = (
    authentication.GROUP,
    errors.GROUP,
    account.GROUP,
    messages.GROUP,
    idempotency.GROUP,
    reading.GROUP,
    events.GROUP,
    uploads.GROUP,
    jobs.GROUP,
    files.GROUP,
    work.GROUP,
    webhooks.GROUP,
    deliveries.GROUP,
    ownership.GROUP,
    additions.GROUP,
    document.GROUP,
    every_answer.GROUP,
)
