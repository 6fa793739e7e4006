"""The steps of pictures: look at the files, make, open again and check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, Job, JobFailed
from agentpost.extraction import Unreadable
from agentpost_offline.archives import unpacking
from agentpost_offline.frame import Thing, from_json, to_json
from agentpost_offline.making import catalogue
from agentpost_offline.making import pictures as reading
from agentpost_offline.making.image import editing
from agentpost_offline.making.image import wish as wishes
from agentpost_offline.making.image.wish import Edit, Wish
from agentpost_offline.making.maker import Inputs, Product, file_name
from agentpost_offline.style import languages

SECONDS = 90.0
MOST_PICTURES = 20
TEXTS = Path(__file__).with_name("texts")


class Planned(msgspec.Struct, frozen=True, omit_defaults=True):
    """One picture to write."""

    sources: tuple[int, ...]
    """Which of the files."""
    name: str
    """What the new file is called after."""
    label: str
    form: str
    size: tuple[int, int]
    before: tuple[int, int] | None = None


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """All pictures to write."""

    wish: Wish
    pictures: tuple[Planned, ...]
    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    cut: bool = False
    """Something was cut off so that nothing is distorted."""


async def make(job: Job, inputs: Inputs) -> Product:
    """Make the pictures; raises `JobFailed` with a text for the user."""
    price = catalogue.MAKERS[Thing.IMAGE].credits
    frame, files = inputs.frame, list(inputs.files)
    asked = to_json(frame)
    await job.progress("Looking at the files")
    plan = msgspec.convert(await job.step(planned, files, asked, timeout=SECONDS), Plan)
    recorded = msgspec.to_builtins(plan)
    written: list[File] = []
    for number, one in enumerate(plan.pictures):
        name = file_name(one.name, one.label, inputs.version, one.form)
        if name in [file.name for file in written]:
            name = file_name(f"{one.name}-{number + 1}", one.label, inputs.version, one.form)
        await job.progress(f"Writing {name}")
        file = await job.write(
            name, write, recorded, number, files, frame.language, cost=0.0 if written else price,
            timeout=SECONDS,
        )  # fmt: skip
        await job.progress(f"Checking {name}")
        await job.step(check, file, one.size, timeout=SECONDS)
        written.append(file)
    texts = languages.words(TEXTS, frame.language)
    described = [
        texts["one"].format(name=file.name, wide=one.size[0], tall=one.size[1])
        for file, one in zip(written, plan.pictures, strict=True)
    ]
    notes = [*([texts["cut"]] if plan.cut else []), texts["clean"]]
    text = texts["made"].format(pictures=languages.language(frame.language).listed(described))
    return Product(text, written, list(plan.used), list(plan.skipped), notes)


@unpacking
def planned(files: Sequence[File], frame: dict[str, Any]) -> dict[str, Any]:
    """A step: what will be written (a `Plan` as JSON); raises `JobFailed`."""
    asked = from_json(frame)
    wish = wishes.of(asked)
    pictures: list[tuple[int, tuple[int, int]]] = []
    skipped: list[str] = []
    for number, file in enumerate(files):
        try:
            if reading.is_picture(file):
                pictures.append((number, reading.size_of(file.local, file.name)))
            else:
                skipped.append(f"{file.name} is not a picture")
        except Unreadable as error:
            skipped.append(str(error))
    if len(pictures) > MOST_PICTURES:
        skipped += [files[number].name for number, _ in pictures[MOST_PICTURES:]]
        pictures = pictures[:MOST_PICTURES]
    texts = languages.words(TEXTS, asked.language)
    used = tuple(f"{files[number].name} ({wide} × {tall})" for number, (wide, tall) in pictures)
    if not pictures:
        raise CannotSucceed("; ".join(skipped) + "." if skipped else texts["none"])
    if wish.kind == "collage":
        if len(pictures) < 2:
            raise CannotSucceed(" ".join([texts["two"], *(f"{reason}." for reason in skipped)]))
        return _json(_collage(wish, pictures, files, used, tuple(skipped)))
    _check_edit(wish, texts)
    made = tuple(_edited(wish.edit, files[number], number, size) for number, size in pictures)
    cut = any(_is_cut(wish.edit, one) for one in made)
    return _json(Plan(wish, made, used, tuple(skipped), cut))


def _json(plan: Plan) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(plan)
    return built


def _check_edit(wish: Wish, texts: dict[str, Any]) -> None:
    if wish.edit == Edit():
        raise JobFailed(texts["what"])


def _collage(
    wish: Wish,
    pictures: Sequence[tuple[int, tuple[int, int]]],
    files: Sequence[File],
    used: tuple[str, ...],
    skipped: tuple[str, ...],
) -> Plan:
    ratios = [wide / tall for _, (wide, tall) in pictures]
    size = editing.collage_size(ratios, wish.edit.size, wish.edit.aspect)
    numbers = tuple(number for number, _ in pictures)
    one = Planned(numbers, files[numbers[0]].name, "collage", wish.edit.form or "jpg", size)
    return Plan(wish, (one,), used, skipped)


def _edited(edit: Edit, file: File, number: int, size: tuple[int, int]) -> Planned:
    target = editing.target(size, edit)
    form = edit.form or _form(file)
    label = f"{target[0]}x{target[1]}" if target != size else "grey" if edit.grey else ""
    label = label or ("text" if edit.text else "")
    if edit.turn and not edit.aspect and not edit.size and not edit.factor:
        label = "turned"
    return Planned((number,), file.name, label, form, target, size)


def _form(file: File) -> str:
    """The format a picture has, where it is one that is written."""
    with file.local.open("rb") as opened:
        head = opened.read(12)
    if head.startswith(b"\x89PNG"):
        return "png"
    if head.startswith(b"\xff\xd8"):
        return "jpg"
    return "webp" if head[8:12] == b"WEBP" else "png"


def _is_cut(edit: Edit, one: Planned) -> bool:
    """Whether a size was asked for that has other proportions than the picture."""
    if edit.aspect is not None or edit.size is None or None in edit.size or one.before is None:
        return False
    wide, tall = one.before[::-1] if edit.turn % 180 == 90 else one.before
    return abs(wide / tall - one.size[0] / one.size[1]) > 0.02


@unpacking
def write(plan: dict[str, Any], number: int, files: Sequence[File], code: str) -> bytes:
    """A step: the bytes of one picture of a plan."""
    made = msgspec.convert(plan, Plan)
    one = made.pictures[number]
    given = [files[at] for at in one.sources]
    try:
        if made.wish.kind == "collage":
            paths, names = [file.local for file in given], [file.name for file in given]
            return editing.encoded(editing.collage(paths, names, one.size), one.form)
        image = editing.edited(given[0].local, given[0].name, made.wish.edit, code)
        return editing.encoded(image, one.form)
    except Unreadable as error:
        raise CannotSucceed(f"{error}.") from error


def check(file: File, size: Sequence[int]) -> list[int]:
    """A step: decode a written picture; raises `JobFailed` unless it has the size asked for, and
    no metadata that says where it was taken."""
    try:
        image = reading.upright(file.local, file.name)
        found = reading.metadata(file.local, file.name)
    except Unreadable as error:
        raise JobFailed(f"{file.name} came out damaged.") from error
    if image.size != tuple(size):
        raise JobFailed(f"{file.name} came out with {image.width} × {image.height} pixels.")
    if found:
        raise JobFailed(f"{file.name} came out with data of the camera in it.")
    return list(image.size)
