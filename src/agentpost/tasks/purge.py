"""The purge: rounds over all that is old, a bounded piece with every sweep."""

from __future__ import annotations

from agentpost.domain.times import SECOND
from agentpost.services import retention
from agentpost.services.context import House
from agentpost.services.retention import LogPlace

REST_SECONDS = 60
"""Between two rounds: what is due is unseen already, so its rows may wait."""


class Purge:
    """Where the rounds stand."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._message: str | None = ""
        self._entry: LogPlace | None = ("", 0)
        self._rest_until = house.clock.passed()

    async def run(self) -> None:
        """The next piece; nothing while it rests."""
        house = self._house
        if house.clock.passed() < self._rest_until:
            return
        if self._message is not None:
            self._message = await retention.messages(house, self._message)
        if self._entry is not None:
            self._entry = await retention.entries(house, self._entry)
        await retention.deleted_works(house)
        await retention.rest(house)
        if self._message is None and self._entry is None:
            self._message, self._entry = "", ("", 0)
            self._rest_until = house.clock.passed() + REST_SECONDS * SECOND
