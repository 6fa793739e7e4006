"""What is remembered of the identity provider, so that strangers cannot make us ask it often."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ProviderCache:
    """The provider's documents by their address, and when each was fetched; when a failure was
    last written down. Times are by `Clock.passed`."""

    documents: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    remembered_at: int | None = None
