"""Numbers, dates, colours and fonts as people of six languages expect them."""

import io
import struct
from pathlib import Path

import pytest

from agentpost_offline.frame import Grain
from agentpost_offline.style import dates, fonts, numbers, palette
from agentpost_offline.style.languages import language
from agentpost_offline.style.typeset import typeset

LANGUAGES = ("en", "de", "es", "fr", "zh", "ar")
SCRIPTS = {
    "Latin": "Ćevabdžinica Šetalište",
    "Cyrillic": "Кофейня «Мир»",
    "Greek": "Παντοπωλείο",
    "Arabic": "مكتبة النور",
    "Hebrew": "שלום עולם",
    "Thai": "ร้านกาแฟ",
    "Devanagari": "नमस्ते दुनिया",
    "Chinese": "田中商店",
}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "€81.8k"),
        ("de", "81,8 Tsd. €"),
        ("es", "81,8 mil €"),
        ("fr", "81,8 k €"),
        ("zh", "€8.18万"),
        ("ar", "81.8 ألف €"),
    ],
)
def test_a_sum_of_money_in_six_languages(code: str, text: str) -> None:
    assert numbers.short(81_824, "€", code).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (-8.5, "°C", "−8.5 °C"),
        (-42, "%", "−42%"),
        (-1_234_567, "$", "−$1.23M"),
        (1_500, "USD", "1,500 USD"),
        (0, "€", "€0"),
        (-0.0, None, "0"),
        (1e300, None, "1.00e300"),
        (float("nan"), None, "–"),
        (0.00034, None, "0.00034"),
        (999_999_999_999_999, None, "1000tn"),
    ],
)
def test_minus_signs_and_units(value: float, unit: str | None, text: str) -> None:
    assert numbers.short(value, unit).replace("\u00a0", " ") == text


def test_one_format_for_a_picture() -> None:
    short = numbers.format_for([81_824, 72_642, 12_738])
    assert [short.bare(v) for v in (81_824, 72_642, 12_738)] == ["81.8k", "72.6k", "12.7k"]
    mixed = numbers.format_for([15_432, 120, 7])
    assert [mixed.bare(v) for v in (15_432, 120, 7)] == ["15,432", "120", "7"]
    assert [short.tick(v, 20_000) for v in (-20_000, 0, 20_000)] == ["−20k", "0", "20k"]
    assert short.tick(2_500, 2_500) == "2.5k"
    shares = numbers.format_for([30.8, 2.1], "%")
    assert (shares.bare(30.8), shares.bare(2.1)) == ("30.8%", "2.1%")


@pytest.mark.parametrize(
    ("value", "grain", "code", "text"),
    [
        ("2025-09-01", Grain.MONTH, "en", "September 2025"),
        ("2025-09", Grain.MONTH, "es", "septiembre de 2025"),
        ("2025-07-01", Grain.QUARTER, "de", "Q3 2025"),
        ("2025-Q3", Grain.QUARTER, "fr", "T3 2025"),
        ("2025-05-03", Grain.DAY, "de", "3. Mai 2025"),
        ("2025-05-03", Grain.DAY, "zh", "2025年5月3日"),
        ("2024-12-30", Grain.WEEK, "en", "week 1, 2025"),
        (1, Grain.WEEKDAY, "ar", "الاثنين"),
        (14.0, Grain.HOUR, "de", "14 Uhr"),
        ("2025-01-01", Grain.YEAR, "en", "2025"),
        (2025, Grain.YEAR, "en", "2025"),
        ("unknown", Grain.MONTH, "en", "unknown"),
        (None, Grain.MONTH, "en", ""),
    ],
)
def test_periods(value: str | float | None, grain: Grain, code: str, text: str) -> None:
    assert dates.period(value, grain, code) == text


def test_a_span_names_one_period_once() -> None:
    assert dates.span("2025-01-01", "2025-12-01", Grain.MONTH) == "January 2025 to December 2025"
    assert dates.span("2025-01-01", "2025-01-01", Grain.MONTH) == "January 2025"


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_is_complete(code: str) -> None:
    tongue = language(code)
    assert [len(n) for n in (tongue.months, tongue.months_short, tongue.months_narrow)] == [12] * 3
    assert [len(n) for n in (tongue.weekdays, tongue.weekdays_short)] == [7] * 2
    assert tongue.join(["a", "b", "c"]).count("b") == 1


def test_colours_by_name_and_value() -> None:
    assert palette.colour("green") == palette.colour("Grün") == palette.colour("绿色")
    assert palette.colour("#ABC") == "#aabbcc"
    assert palette.colour("nonsense") is None
    assert palette.contrast(palette.legible("#ffff00"), "#ffffff") >= 4.5
    chosen = palette.series(12, "#2e7d32")
    assert chosen[0] == "#2e7d32"
    assert len(set(chosen)) == 12


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_is_covered(script: str) -> None:
    assert fonts.missing(SCRIPTS[script]) == ()


def test_letters_no_font_has_are_known() -> None:
    assert fonts.missing("Aྤ\U000effffB") == ("ྤ", "\U000effff")
    assert fonts.without_missing("A\u0fa4\u0fa4B", ("\u0fa4",)) == "A…B"


def test_a_font_that_draws_boxes_covers_nothing(tmp_path: Path) -> None:
    """A last-resort font maps every character to one glyph (format 13)."""
    subtable = struct.pack(">HHIII", 13, 0, 28, 0, 1) + struct.pack(">III", 0, 0x10FFFF, 1)
    cmap = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + subtable
    head = struct.pack(">IHHHH", 0x00010000, 1, 16, 0, 0)
    record = struct.pack(">4sIII", b"cmap", 0, 28, len(cmap))
    path = tmp_path / "boxes.ttf"
    path.write_bytes(head + record + cmap)
    assert not fonts.has_glyph(path, "A")
    (tmp_path / "broken.ttf").write_bytes(b"\x00\x01\x00\x00\xff")
    assert not fonts.has_glyph(tmp_path / "broken.ttf", "A")


def test_text_is_set_as_it_is(tmp_path: Path) -> None:
    template = tmp_path / "line.typ"
    template.write_text(
        '#import "style.typ": *\n#show: dressed\n'
        "#set page(width: 300pt, height: 40pt, margin: 5pt)\n"
        '#for line in json("data.json") { page(text(line)) }\n'
    )
    hostile = '#panic("no") *bold* $x$ #import "@preview/x:1.0.0" \u202eevil'
    made = typeset([template], [hostile, "a\u0fa4b\x00"], form="png")
    assert len(made) == 2
    from PIL import Image

    with Image.open(io.BytesIO(made[0])) as image:
        assert image.size == (600, 80)


def test_a_template_reads_nothing_outside_its_folder(tmp_path: Path) -> None:
    import typst

    template = tmp_path / "peek.typ"
    template.write_text('#read("/etc/passwd")')
    with pytest.raises(typst.TypstError):
        typeset([template], {}, form="pdf")


def test_a_value_is_set_in_a_font_that_has_its_unit() -> None:
    plain, tonnes = fonts.file_with("12 t"), fonts.file_with("12 吨")
    assert plain is not None
    assert plain.name.startswith("Inter")
    assert (tonnes is None) == bool(fonts.missing("12 吨"))
    assert tonnes is None or (tonnes != plain and fonts.has_glyph(tonnes, "吨"))
