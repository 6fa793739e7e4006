"""Which refused actions the audit log keeps, so that a flood of them hides nothing else.

The first of a minute are kept, and the last of these counts the rest. What changed something is
never counted here, and neither is what failed by a fault of ours.
"""

import json
from typing import Final

from agentpost.domain.times import MINUTE
from agentpost.record.records import OperatorActionRecord

KEPT_PER_MINUTE: Final = 20
"""Of one actor, by each process."""
MORE: Final = "more_refused"
"""The detail of a row that says how many came after it within its minute."""


class RefusedActions:
    """Counts the refused actions of each actor within a minute."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[str, int] = {}
        self._last: dict[str, OperatorActionRecord] = {}

    def count(self, refused: OperatorActionRecord, actor: str) -> OperatorActionRecord:
        """The row that tells of a refused action: itself when it is kept, else the last row that
        was, which now counts it."""
        minute = refused.at // MINUTE
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
            self._last.clear()
        count = self._counts[actor] = self._counts.get(actor, 0) + 1
        if count <= KEPT_PER_MINUTE:
            self._last[actor] = refused
            return refused
        last = self._last[actor]
        detail = {**json.loads(last.detail_json), MORE: count - KEPT_PER_MINUTE}
        last.detail_json = json.dumps(detail)
        return last
