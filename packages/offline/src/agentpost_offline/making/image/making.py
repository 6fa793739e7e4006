"""The steps of pictures: look at the files; make, open again and check."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, JobFailed
from agentpost.extraction import Unreadable
from agentpost_offline.data.archives import unpacking
from agentpost_offline.frame import from_json
from agentpost_offline.making import pictures
from agentpost_offline.making.image import editing
from agentpost_offline.making.image.editing import Edit
from agentpost_offline.making.maker import Output, Plan, file_name
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


@unpacking
def plan(files: Sequence[File], frame_json: Any, sections: Any, version: int) -> Any:
    """A step: the edit, and each `Picture` that will be written."""
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
    notes = (*([phrases["cut"]] if is_cut else []), phrases["clean"])
    names: list[str] = []
    for number, one in enumerate(products, 1):
        name = file_name(one.name, one.label, version, one.form)
        if name in names:
            name = file_name(f"{one.name}-{number}", one.label, version, one.form)
        names.append(name)
    parts = [phrases["one"].format(name=name, wide=one.size[0], tall=one.size[1])
             for name, one in zip(names, products, strict=True)]  # fmt: skip
    text = phrases["made"].format(pictures=language(frame.language).join(parts))
    outputs = tuple(Output(name, "", (one,)) for name, one in zip(names, products, strict=True))
    return msgspec.to_builtins(Plan(text, outputs, tuple(used), tuple(omissions), notes))


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
def write(files: Sequence[File], frame_json: Any, sections: Any, picture: Any) -> bytes:
    """A write: the bytes of one picture. Raises `JobFailed` unless it has the size asked
    for when it is opened again, and no data that say where it was taken."""
    frame, one = from_json(frame_json), msgspec.convert(picture, Picture)
    edit = editing.of_frame(frame)
    sources = [files[at] for at in one.sources]
    try:
        if edit.is_collage:
            paths, names = [file.local for file in sources], [file.name for file in sources]
            image = editing.collage(paths, names, one.size, edit, frame.language)
        else:
            image = editing.apply(sources[0].local, sources[0].name, edit, frame.language)
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
