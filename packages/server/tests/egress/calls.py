"""Short forms of what the tests of `Egress` do, and name services that answer as told."""

import re
from collections.abc import Sequence
from pathlib import Path

from agentpost.egress.client import Answer, Download, Egress, PostResult

NOT_FOUND_OR_PRIVATE = "its host was not found or is not public"


class Names:
    """A name service that gives one answer after the other; the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def no_such_name(_host: str) -> Sequence[str]:
    raise OSError("Name or service not known")


async def post(client: Egress, url: str, seconds: float = 30) -> PostResult:
    return await client.post(url, b'{"a": 1}', {"webhook-id": "evt_1"}, seconds=seconds)


async def exchange(client: Egress, url: str) -> Answer:
    return await client.exchange("POST", url, {}, b"{}", max_bytes=1_000, seconds=30)


async def fetch(client: Egress, url: str, into: Path, max_bytes: int = 1_000) -> Download:
    return await client.fetch(url, max_bytes=max_bytes, seconds=30, into=into)


def leaks(text: str | None) -> bool:
    """Does a text name an address?"""
    return re.search(r"\d+\.\d+\.\d+\.\d+|::|localhost", text or "") is not None
