"""The steps of pictures: look at the files; make, open again and check."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, Job, JobFailed
from agentpost.extraction import Unreadable
from agentpost_offline.data.archives import unpacking
from agentpost_offline.frame import Thing, from_json, to_json
from agentpost_offline.making import catalogue, pictures
from agentpost_offline.making.image import editing
from agentpost_offline.making.image.editing import Edit
from agentpost_offline.making.maker import Inputs, Output, Product, file_name, write_files
from agentpost_offline.style.languages import language, texts

SECONDS = 90.0
MOST_PICTURES = 20


class Picture(msgspec.Struct, frozen=True, omit_defaults=True):
    """One picture to write, of the files of these numbers; ``name`` is that of the first one."""

    sources: tuple[int, ...]
    name: str
    label: str
    form: str
    size: tuple[int, int]


async def make(job: Job, inputs: Inputs) -> Product:
    """Make the pictures; raises `JobFailed` with a text for the user."""
    frame, files = inputs.frame, list(inputs.files)
    about = await job.step(plan, files, to_json(frame), timeout=SECONDS)
    plans = msgspec.convert(about["pictures"], list[Picture])
    names = [file_name(one.name, one.label, inputs.version, one.form) for one in plans]
    for number, one in enumerate(plans):
        if names[number] in names[:number]:
            stem = f"{one.name}-{number + 1}"
            names[number] = file_name(stem, one.label, inputs.version, one.form)
    products = await write_files(job, inputs, catalogue.MAKERS[Thing.IMAGE], (
        Output(name, "", write, (about["edit"], one, files, frame.language))
        for name, one in zip(names, about["pictures"], strict=True)
    ), timeout=SECONDS)  # fmt: skip
    phrases = texts("image", frame.language)
    parts = [phrases["one"].format(name=name, wide=one.size[0], tall=one.size[1])
             for name, one in zip(names, plans, strict=True)]  # fmt: skip
    text = phrases["made"].format(pictures=language(frame.language).join(parts))
    return Product(text, products, about["used"], about["skipped"], about["notes"])


@unpacking
def plan(files: Sequence[File], frame_json: dict[str, Any]) -> dict[str, Any]:
    """A step: the edit and each `Picture` that will be written, and what is said of them, as JSON;
    raises `JobFailed`."""
    frame = from_json(frame_json)
    edit, phrases = editing.of_frame(frame), texts("image", frame.language)
    sizes: dict[int, tuple[int, int]] = {}
    omissions: list[str] = []
    for number, file in enumerate(files):
        try:
            if not pictures.form_of(file):
                omissions.append(f"{file.name} is not a picture")
            elif len(sizes) == MOST_PICTURES:
                omissions.append(file.name)
            else:
                sizes[number] = pictures.size_of(file.local, file.name)
        except Unreadable as error:
            omissions.append(str(error))
    if not sizes:
        raise CannotSucceed("; ".join(omissions) + "." if omissions else phrases["none"])
    if edit.is_collage and len(sizes) < 2:
        raise CannotSucceed(" ".join([phrases["two"], *(f"{reason}." for reason in omissions)]))
    if edit == Edit():
        raise JobFailed(phrases["what"])
    if edit.is_collage:
        size = editing.collage_size([wide / tall for wide, tall in sizes.values()], edit)
        first = files[next(iter(sizes))].name
        products = [Picture(tuple(sizes), first, "collage", edit.form or "jpg", size)]
    else:
        products = [_picture(edit, files[number], number, size) for number, size in sizes.items()]
    used = [f"{files[number].name} ({wide} × {tall})" for number, (wide, tall) in sizes.items()]
    is_cut = not edit.is_collage and any(
        _is_cut(edit, size, one.size) for size, one in zip(sizes.values(), products, strict=True)
    )
    notes = [*([phrases["cut"]] if is_cut else []), phrases["clean"]]
    return {"edit": msgspec.to_builtins(edit), "pictures": msgspec.to_builtins(products),
            "used": used, "skipped": omissions, "notes": notes}  # fmt: skip


def _picture(edit: Edit, file: File, number: int, size: tuple[int, int]) -> Picture:
    wide, tall = editing.size_after(size, edit)
    label = f"{wide}x{tall}" if (wide, tall) != size else "grey" if edit.grey else ""
    if edit.turn and not edit.aspect and not edit.size and not edit.factor:
        label = "turned"
    label = label or ("text" if edit.text else "")
    own = pictures.form_of(file)
    form = edit.form or (own if own in ("png", "jpg", "webp") else "png")
    return Picture((number,), file.name, label, form, (wide, tall))


def _is_cut(edit: Edit, before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether a size was asked for that has other proportions than the picture."""
    if edit.aspect is not None or edit.size is None or None in edit.size:
        return False
    wide, tall = before[::-1] if edit.turn % 180 == 90 else before
    return abs(wide / tall - after[0] / after[1]) > 0.02


@unpacking
def write(edit_json: Any, picture_json: Any, files: Sequence[File], code: str) -> bytes:
    """A write: the bytes of one picture. Raises `JobFailed` unless it has the size asked
    for when it is opened again, and no data that say where it was taken."""
    edit, one = msgspec.convert(edit_json, Edit), msgspec.convert(picture_json, Picture)
    sources = [files[at] for at in one.sources]
    try:
        if edit.is_collage:
            paths, names = [file.local for file in sources], [file.name for file in sources]
            image = editing.collage(paths, names, one.size)
        else:
            image = editing.apply(sources[0].local, sources[0].name, edit, code)
    except Unreadable as error:
        raise CannotSucceed(f"{error}.") from error
    data = editing.encode(image, one.form)
    try:
        size, tags = pictures.look(data)
    except Unreadable as error:
        raise JobFailed("The picture came out damaged.") from error
    if size != one.size:
        raise JobFailed(f"The picture came out with {size[0]} × {size[1]} pixels.")
    if tags:
        raise JobFailed("The picture came out with data of the camera in it.")
    return data
