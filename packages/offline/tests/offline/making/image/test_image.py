"""Pictures in, pictures out, decoded again: sizes, sides, formats, what is removed and refused."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentpost.agents import File, JobFailed, Unreadable
from agentpost_offline.frame import Style, Thing
from agentpost_offline.making import pictures
from agentpost_offline.making.image import editing
from agentpost_offline.making.image.editing import Edit
from agentpost_offline.making.maker import Product
from tests.offline.making import stories

LEFT, RIGHT, BELOW = (255, 0, 0), (0, 128, 0), (0, 0, 255)


async def made(
    folder: Path, files: list[File], size: tuple[int, int] | None = None,
    formats: tuple[str, ...] = (), **options: Any,
) -> tuple[Product, list[Image.Image]]:  # fmt: skip
    style = Style(size=size, options=options)
    one = await stories.make(folder, Thing.IMAGE, files, style=style, formats=formats)
    return one.product, [Image.open(folder / file.name) for file in one.product.files]


WISHES: list[tuple[Style, Edit]] = [
    (Style(options={"crop": True, "square": True}), Edit(aspect=(1, 1))),
    (Style(size=(16, 9)), Edit(aspect=(16, 9))),
    (Style(options={"square": True, "side": "left"}), Edit(aspect=(1, 1), side="left")),
    (Style(options={"crop": True, "portrait": True}), Edit(aspect=(4, 5))),
    (Style(options={"rotate": True}), Edit(turn=90)),
    (Style(options={"rotate": 90, "left": True}), Edit(turn=270)),
    (Style(options={"rotate": 180}), Edit(turn=180)),
    (Style(options={"grayscale": True}), Edit(grey=True)),
    (Style(options={"resize": True, "wide": 320}), Edit(size=(320, None))),
    (Style(options={"percent": 25}), Edit(factor=0.25)),
    (Style(size=(300, 200)), Edit(size=(300, 200))),
    (Style(options={"collage": "row"}), Edit(is_collage=True, is_row=True)),
    (Style(options={"text": "Sale"}), Edit(text="Sale")),
    (Style(options={"text": "Sale", "top": True}), Edit(text="Sale", is_text_on_top=True)),
]


@pytest.mark.parametrize(("style", "edit"), WISHES)
def test_options_become_an_edit(style: Style, edit: Edit) -> None:
    assert editing.of_frame(stories.frame(Thing.IMAGE, style=style)) == edit


def test_a_text_stands_at_the_bottom_or_at_the_top() -> None:
    white = Image.new("RGB", (400, 300), "white")
    for on_top, band, rest in ((True, 5, 295), (False, 295, 5)):
        image = editing.letter(white, "Sale", "en", on_top=on_top)
        assert image.getpixel((3, band)) != (255, 255, 255)
        assert image.getpixel((3, rest)) == (255, 255, 255)


def test_a_text_that_does_not_fit_is_refused() -> None:
    with pytest.raises(JobFailed, match="too long for the picture"):
        editing.letter(Image.new("RGB", (200, 60)), "word " * 80, "en")


@pytest.mark.parametrize("size", [(1200, 1800), (1800, 600), (90, 160)])
@pytest.mark.parametrize("text", ["Open studio", "Hi", "Open studio on Saturday from ten to four"])
def test_larger_letters_fit_and_smaller_ones_take_less_room(
    size: tuple[int, int], text: str
) -> None:
    def band(scale: float) -> int:
        plain = Image.new("RGB", size, "#ffffff")
        lettered = editing.letter(plain, text, "en", scale=scale)
        return sum(lettered.getpixel((2, y)) != (255, 255, 255) for y in range(size[1]))

    assert 0 < band(0.6) <= band(1.0) <= band(1.6) <= size[1] / 2


async def test_a_resized_picture_has_exactly_the_size_and_is_not_distorted(
    tmp_path: Path,
) -> None:
    shop = stories.picture(tmp_path)
    result, (image,) = await made(tmp_path, [shop], (300, 300))
    assert image.size == (300, 300)
    assert result.files[0].name == "shop-300x300.png"
    assert result.notes[0].startswith("What did not fit")
    assert "300 × 300" in result.text


@pytest.mark.parametrize(
    ("side", "x", "colour"), [("left", 5, LEFT), ("right", 395, RIGHT), ("centre", 5, None)]
)
async def test_a_crop_keeps_the_side_that_was_named(
    tmp_path: Path, side: str, x: int, colour: tuple[int, ...] | None
) -> None:
    shop = stories.picture(tmp_path)
    _, (image,) = await made(tmp_path, [shop], square=True, side=side)
    assert image.size == (400, 400)
    assert (image.convert("RGB").getpixel((x, 5)) == colour) == (colour is not None)


async def test_a_turned_picture_is_turned(tmp_path: Path) -> None:
    shop = stories.picture(tmp_path)
    _, (image,) = await made(tmp_path, [shop], rotate=True)
    assert image.size == (400, 640)
    assert image.convert("RGB").getpixel((5, 5)) == BELOW


@pytest.mark.parametrize(("form", "kind"), [("jpg", "JPEG"), ("webp", "WEBP"), ("gif", "GIF")])
async def test_formats_are_converted(tmp_path: Path, form: str, kind: str) -> None:
    shop = stories.picture(tmp_path)
    result, (image,) = await made(tmp_path, [shop], formats=(form,))
    assert image.format == kind
    assert image.size == (640, 400)
    assert result.files[0].name == f"shop.{form}" or form == "png"


async def test_the_camera_s_data_turns_the_picture_and_goes(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    exif[0x0110] = "Secret 5"
    exif.get_ifd(0x8825)[2] = (48.0, 51.0, 29.0)
    photo = stories.picture(tmp_path, "photo.jpg", exif=exif)
    result, (image,) = await made(tmp_path, [photo], percent=50)
    assert image.size == (200, 320)
    assert not image.getexif()
    assert b"Secret" not in (tmp_path / result.files[0].name).read_bytes()
    assert result.used == ("photo.jpg (400 × 640)",)


@pytest.mark.parametrize(
    "ratios", [(4 / 3, 1.0, 2 / 3), (4 / 3,) * 4, (2 / 3,) * 3, (1.5, 0.67, 1.0, 1.78, 1.5)]
)
def test_nothing_of_a_collage_is_cut_off(ratios: tuple[float, ...]) -> None:
    size = editing.collage_size(ratios, Edit(is_collage=True))
    for (_, _, wide, tall), ratio in zip(editing.cells(ratios, size, 14), ratios, strict=True):
        assert wide / tall == pytest.approx(ratio, rel=0.06)


async def test_a_collage_shows_every_picture_whole_or_nearly(tmp_path: Path) -> None:
    files = [stories.picture(tmp_path, f"p{n}.png", (300 + 100 * n, 300)) for n in range(5)]
    _, (image,) = await made(tmp_path, files, collage=True)
    assert image.width == 1800
    assert image.format == "JPEG"


async def test_a_collage_has_its_text_and_no_colours_where_none_are_wanted(tmp_path: Path) -> None:
    files = [stories.picture(tmp_path, f"p{n}.png", (400, 300)) for n in range(2)]
    _, (plain,) = await made(tmp_path, files, collage=True)
    plain.load()
    _, (lettered,) = await made(tmp_path, files, collage=True, text="Hello", top=True)
    wide, tall = plain.size
    upper, lower = (0, 0, wide, tall // 10), (0, tall // 2, wide, tall)
    assert lettered.crop(upper).tobytes() != plain.crop(upper).tobytes()
    assert lettered.crop(lower).tobytes() == plain.crop(lower).tobytes()
    _, (grey,) = await made(tmp_path, files, collage=True, grayscale=True)
    assert grey.mode == "L"


@pytest.mark.parametrize("count", [2, 3, 4, 7, 12, 20])
@pytest.mark.parametrize("size", [(1800, 1200), (1080, 1920), (900, 900)])
def test_the_places_of_a_collage_fill_it(count: int, size: tuple[int, int]) -> None:
    ratios = [(1.5, 0.67, 1.0, 1.78)[at % 4] for at in range(count)]
    boxes = editing.cells(ratios, size, 10)
    assert len(boxes) == count
    for left, top, wide, tall in boxes:
        assert min(left, top) >= 0
        assert min(wide, tall) > 10
        assert left + wide <= size[0]
        assert top + tall <= size[1]
    assert max(left + wide for left, _, wide, _ in boxes) == size[0]
    assert max(top + tall for _, top, _, tall in boxes) == size[1]


def bomb(wide: int, tall: int) -> bytes:
    """A PNG whose header says that it is large; it has no pixels."""
    head = struct.pack(">IIBBBBB", wide, tall, 8, 2, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", head), (b"IDAT", b"x" * 16))
    )
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize("size", [(50_000, 50_000), (1, 200_000), (20_000, 4_000)])
def test_a_picture_too_large_to_decode_is_refused_by_its_header(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(bomb(*size))
    with pytest.raises(Unreadable, match="pixels"):
        pictures.size_of(path, "bomb.png")


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"not a picture", b"\xff\xd8\xff"])
async def test_damaged_pictures_end_the_job_with_a_reason(tmp_path: Path, content: bytes) -> None:
    shop = stories.picture(tmp_path)
    Path(shop.blob).write_bytes(content)
    with pytest.raises(JobFailed, match=r"shop\.png"):
        await made(tmp_path, [shop], square=True)


async def test_a_size_nobody_can_use_is_refused(tmp_path: Path) -> None:
    shop = stories.picture(tmp_path)
    with pytest.raises(JobFailed, match="larger than"):
        await made(tmp_path, [shop], (30_000, 30_000))


async def test_an_unclear_wish_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="What should be done"):
        await made(tmp_path, [stories.picture(tmp_path)])


def test_transparency_becomes_white_where_there_is_none() -> None:
    content = editing.encode(Image.new("RGBA", (4, 4), (0, 0, 0, 0)), "jpg")
    with Image.open(io.BytesIO(content)) as image:
        assert image.getpixel((0, 0)) == (255, 255, 255)


def test_two_pictures_side_by_side_are_shown_whole() -> None:
    wide, tall = editing.collage_size((1.6, 1.0), Edit())
    assert wide / tall == pytest.approx(2.6, rel=0.01)


def test_three_pictures_stand_side_by_side_where_that_is_asked_for() -> None:
    size = editing.collage_size([4 / 3] * 3, Edit(is_collage=True, is_row=True))
    places = editing.cells([4 / 3] * 3, size, 10, is_row=True)
    assert {(top, tall) for _, top, _, tall in places} == {(0, size[1])}
