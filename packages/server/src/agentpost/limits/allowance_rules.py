"""How much an account may do: the numbers an operator can change for one account (spec: Limits)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Allowances:
    """Requests count for each key, the rest for the account. All are whole numbers above 0, except
    ``stored_bytes``, which may be 0 (no limit), and ``conversation_required``, which is 1 when
    every message has to name a conversation, else 0."""

    requests_per_minute: int
    messages_per_hour: int
    messages_per_day: int
    waits_per_hour: int
    work_reads_per_hour: int
    running_jobs: int
    stored_bytes: int
    conversation_required: int

    def overridden(self, overrides: Mapping[str, int]) -> "Allowances":
        """These with some replaced; other names are passed over."""
        return replace(self, **{name: overrides[name] for name in NAMES if name in overrides})

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


NAMES = tuple(field.name for field in fields(Allowances))
MAY_BE_ZERO = frozenset({"stored_bytes", "conversation_required"})
SWITCHES = frozenset({"conversation_required"})
"""Those that are 0 or 1."""
