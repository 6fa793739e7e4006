"""What a maker is asked for, what making one thing gives back, and what its files are called."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import Any, Protocol, cast

import msgspec

from agentpost.agents.base import File, Job
from agentpost_offline.frame import Frame, Thing, to_json
from agentpost_offline.making.content import Section

_NAME_LONGEST = 60
_DIGITS = 15
"""So many are written of a number: decimals of as many come out as they were read."""


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file to write: what people read of it, and what ``write`` of its maker gets beside the
    request. ``part``: the number of the plan's part that it is made of instead of the files."""

    name: str
    label: str = ""
    arguments: tuple[Any, ...] = ()
    part: int | None = None


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What will be written, and what is said of it. ``parts`` are what several files are made
    of."""

    text: str
    """What was made, in a sentence that states the main finding."""
    outputs: tuple[Output, ...]
    used: tuple[str, ...] = ()
    """Inputs with what was read of them: "orders.csv (600 rows)"."""
    skipped: tuple[str, ...] = ()
    """Inputs or parts that were not used, with the reason."""
    notes: tuple[str, ...] = ()
    """Everything else the reader must know."""
    parts: tuple[Any, ...] = ()


class Product(Plan, frozen=True):
    """The outcome of a job: what was planned, and the ``files`` that were written, the one to open
    first at the front."""

    files: tuple[File, ...] = ()


class Making(Protocol):
    """A maker's module. Both functions run in worker processes and raise `JobFailed` with a text
    for the user; what they get first are the files, the frame and the sections as JSON."""

    SECONDS: float
    """How long one call may take."""

    def plan(self, files: Sequence[File], frame: Any, sections: Any, version: int) -> Any:
        """A step: a `Plan` as JSON."""

    def write(self, files: Sequence[File], frame: Any, sections: Any, *arguments: Any) -> Any:
        """A write: the contents of a file of the plan, checked."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A thing that can be made.

    Args:
        thing: which.
        title: the noun for job titles, in English: "Chart".
        credits: what one result costs, charged when its first file is written.
        formats: suffixes it can write, the default first.
        needs: kinds of input of which one must be there: ``table document image text``.
        module: below this package; see `Making`.
        requires: the library of an extra, and the extra: when it is missing the user is told what
            to install.
        together: how many formats, the first ones, it writes when a request names none.
    """

    thing: Thing
    title: str
    credits: float
    formats: tuple[str, ...]
    needs: frozenset[str]
    module: str
    requires: tuple[str, str] | None = None
    together: int = 1

    @property
    def usual(self) -> tuple[str, ...]:
        """The suffixes it writes when a request names none."""
        return self.formats[: self.together]

    def forms(self, frame: Frame) -> Sequence[str]:
        """The suffixes it writes for a frame."""
        return [form for form in frame.formats if form in self.formats] or self.usual

    def load(self) -> Making:
        """Import the module, with the libraries that it needs at once."""
        module: Any = import_module(f"{__package__}.{self.module}")
        return cast("Making", module)

    async def make(
        self, job: Job, frame: Frame, files: Sequence[File], version: int = 1,
        sections: Sequence[Section] = (), *, is_free: bool = False,
    ) -> Product:  # fmt: skip
        """Make the thing; raises `JobFailed` with a text for the user.

        Args:
            files: the frame's, in its order.
            version: counts the results of this work and is part of later file names.
            sections: what a caller wants to stand in the result; without any, the maker tells what
                it finds.
            is_free: it only draws anew what was paid for.
        """
        names = ", ".join(file.name for file in files)
        await job.progress(f"Reading {names or 'the text'}")
        module, request = self.load(), (to_json(frame), msgspec.to_builtins(sections))
        plan_json = await job.step(
            module.plan, list(files), *request, version, timeout=module.SECONDS
        )
        plan = msgspec.convert(plan_json, Plan)
        results: list[File] = []
        for output in plan.outputs:
            await job.progress(f"Writing {output.name}")
            material: tuple[Any, ...] = (list(files), *request)
            if output.part is not None:  # nothing is read again
                material = ([], *request, plan.parts[output.part])
            cost = 0.0 if results or is_free else self.credits
            results.append(await job.write(
                output.name, module.write, *material, *output.arguments,
                label=output.label or None, cost=cost, timeout=module.SECONDS,
            ))  # fmt: skip
        return Product(**msgspec.structs.asdict(plan), files=tuple(results))


def file_name(source: str, thing: str, version: int, suffix: str) -> str:
    """``orders-deck.pptx``, of the second version ``orders-deck-2.pptx``. ``source``: the file or
    title it was made from, whose letters of any script stay; ``thing`` is left out when empty."""
    stem = PurePath(source).stem if re.search(r"\.\w{1,5}$", source) else source
    plain = unicodedata.normalize("NFKC", stem).casefold()
    plain = re.sub(r"[^\w]+|_+", "-", plain).strip("-")[:_NAME_LONGEST].strip("-")
    parts = [plain or "result", thing, str(version) if version > 1 else ""]
    return "-".join(part for part in parts if part) + f".{suffix}"


def csv_of(rows: Iterable[Sequence[object]]) -> bytes:
    """Rows as CSV for spreadsheets. A text that one would take for a formula gets an apostrophe in
    front."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([_plain(cell) for cell in row] for row in rows)
    return out.getvalue().encode("utf-8-sig")


def _plain(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t")):
        return f"'{cell}"
    if isinstance(cell, float):
        is_whole = cell.is_integer() and abs(cell) < 1e21
        return int(cell) if is_whole else f"{cell:.{_DIGITS}g}"
    return cell
