"""What a server gives to an agent that is no code of its own process."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


class Exchange(Protocol):
    """An answer whose head is there: its status, and its lines as they come."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    def lines(self, bytes_max: int) -> AsyncIterator[bytes]:
        """The lines of its body without their ends; raises when all have more bytes."""


class WayOut(Protocol):
    """Makes requests to addresses that somebody chose (see `egress.client.Egress`)."""

    def stream(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AbstractAsyncContextManager[Exchange]:
        """One request; the answer is read inside the context. Raises `EgressError`."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings ``llm_…``, for an agent whose model is a service (see `defaults.toml`)."""

    base_url: str
    instructions: str
    call_seconds: float
    retries: int
    context_tokens: int
    tools: Sequence[str]
    mcp_file: str
    input_credits: float
    output_credits: float
    price_file: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the server has for its agent.

    ``environment`` is that of programs; ``memory_bytes`` (None: no limit) and ``cpu_seconds`` are
    what one program may use in a run; one that stays ends when it has waited
    ``program_idle_seconds`` for the next run, 0: none stays. ``sign`` makes the headers of a
    request from its key and its body, with ``secret``. ``llm`` is for a model.
    """

    environment: Mapping[str, str]
    memory_bytes: int | None
    cpu_seconds: float
    program_idle_seconds: float
    way_out: WayOut
    secret: str
    sign: Callable[[str, bytes], dict[str, str]]
    llm: ModelSettings
