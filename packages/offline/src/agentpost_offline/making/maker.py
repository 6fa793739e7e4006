"""What a maker is asked for, what making one thing gives back, and what its files are called."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import PurePath

from agentpost.agents.base import File, Job
from agentpost_offline.frame import Frame, Thing
from agentpost_offline.making.content import Section

_NAME_LONGEST = 60


@dataclass(slots=True)
class Product:
    """The outcome of a job.

    Args:
        text: what was made, in a sentence that states the main finding.
        files: what was written, the one to open first at the front.
        used: inputs with what was read of them: "orders.csv (600 rows)".
        skipped: inputs or parts that were not used, with the reason.
        notes: everything else the reader must know.
    """

    text: str
    files: list[File]
    used: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a maker works from. ``files`` are the frame's, in its order; ``version`` counts the
    results of this work and is part of later file names (1 for the first). ``sections`` are what a
    caller wants to stand in the result; without any, the maker tells what it finds."""

    frame: Frame
    files: tuple[File, ...]
    version: int = 1
    sections: tuple[Section, ...] = ()


Make = Callable[[Job, Inputs], Awaitable[Product]]


@dataclass(frozen=True, slots=True)
class Maker:
    """A thing that can be made.

    Args:
        thing: which.
        title: the noun for job titles, in English: "Chart".
        credits: what one result costs, charged when its first file is written.
        formats: suffixes it can write, the default first.
        needs: kinds of input of which one must be there: ``table document image text``.
        function: ``module:name`` below this package, of a coroutine function that is run inside the
            job, does everything through steps and writes of the job, and raises `JobFailed` with a
            text for the user.
        requires: names of libraries of an extra, and the extra: when they are missing the user is
            told what to install.
        together: how many formats, the first ones, it writes when a request names none.
    """

    thing: Thing
    title: str
    credits: float
    formats: tuple[str, ...]
    needs: frozenset[str]
    function: str
    requires: tuple[str, str] | None = None
    together: int = 1

    @property
    def usual(self) -> tuple[str, ...]:
        """The suffixes it writes when a request names none."""
        return self.formats[: self.together]

    def load(self) -> Make:
        """Import the function, with the libraries that it needs at once."""
        module, _, name = self.function.partition(":")
        make: Make = getattr(import_module(f"{__package__}.{module}"), name)
        return make

    async def make(self, job: Job, inputs: Inputs) -> Product:
        """Make the thing; raises `JobFailed` with a text for the user."""
        return await self.load()(job, inputs)


def file_name(source: str, thing: str, version: int, suffix: str) -> str:
    """``orders-deck.pptx``, of the second version ``orders-deck-2.pptx``.

    Args:
        source: the name of the file or the title it was made from; letters of any script stay.
        thing: what it is; left out when empty.
        version: 1 for the first of a work.
        suffix: without the dot.
    """
    stem = PurePath(source).stem if re.search(r"\.\w{1,5}$", source) else source
    plain = unicodedata.normalize("NFKC", stem).casefold()
    plain = re.sub(r"[^\w]+|_+", "-", plain).strip("-")[:_NAME_LONGEST].strip("-")
    parts = [plain or "result", thing, str(version) if version > 1 else ""]
    return "-".join(part for part in parts if part) + f".{suffix}"
