"""How much an account may do: the numbers an operator can change for one account (spec: Limits)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Allowances:
    """Requests count for each key, the rest for the account; all are whole and above nought, but
    ``stored_bytes`` may be 0: no limit."""

    requests_per_minute: int
    messages_per_hour: int
    messages_per_day: int
    waits_per_hour: int
    work_reads_per_hour: int
    running_jobs: int
    stored_bytes: int

    def overridden(self, overrides: Mapping[str, int]) -> Allowances:
        """These with some replaced; names that are no allowance (any more) are passed over."""
        known = {name: overrides[name] for name in NAMES if name in overrides}
        return replace(self, **known)

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


NAMES = tuple(field.name for field in fields(Allowances))
MAY_BE_ZERO = frozenset({"stored_bytes"})
