"""What the cells of a column are, decided for the column as a whole (pure): one cell alone cannot
tell ``1.234`` (German thousands) from ``1.234`` (a decimal), nor ``03/04/2025`` in March from
April."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agentpost_offline.data import words
from agentpost_offline.data.model import Kind
from agentpost_offline.frame import Grain
from agentpost_offline.style.numbers import CURRENCIES

ERRORS = frozenset((
    "#div/0!", "#n/a", "#ref!", "#value!", "#name?", "#num!", "#null!", "#spill!", "#calc!",
    "#error!",
))  # fmt: skip
"""What spreadsheets show where a formula failed."""

NO_VALUE = frozenset(
    ("", "#n/a n/a", "#na", "-1.#ind", "-1.#qnan", "-nan", "1.#ind", "1.#qnan", "<na>", "n/a", "na",
     "null", "nan", "none")
) | ERRORS  # fmt: skip
"""Cells without a value, whatever the column holds."""

NO_FIGURE = frozenset(
    ("-", "–", "—", ".", "..", "...", "…", "?", "inf", "+inf", "-inf", "infinity", "-infinity", "∞",
     "-∞")
)  # fmt: skip
_SCALES = {
    "k": 1e3, "tsd": 1e3, "m": 1e6, "mio": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "mrd": 1e9,
    "md": 1e9, "万": 1e4, "亿": 1e8,
}  # fmt: skip
_SHAPE = re.compile(
    r"(?P<before>[^\d\s.,()+-]{0,4})\s?(?P<sign>[+-]?)\s?(?P<middle>[$€£¥₹₽₩]?)\s?"
    r"(?P<digits>\d[\d.,'’\u00a0\u202f\u2009 ]*|[.,]\d+)(?P<power>[eE][+-]?\d{1,3})?\s?"
    r"(?P<after>[^\d\s()][^\d()]{0,11})?"
)
_GROUPED = {
    ",": re.compile(r"\d{1,3}(?:[,'’\s]\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+"),
    ".": re.compile(r"\d{1,3}(?:[.'’\s]\d{3})+(?:,\d*)?|\d+(?:,\d*)?|,\d+"),
}
# Indian digits: 12,34,567
_LAKHS = re.compile(r"\d{1,2}(?:,\d\d)*,\d{3}(?:\.\d*)?")
_DECIMAL_COMMA = re.compile(r"\d,(\d{1,2}|\d{4,})$|\.\d{3},\d+$|^0,\d+$")
_DECIMAL_POINT = re.compile(r"\d\.(\d{1,2}|\d{4,})$|,\d{3}\.\d+$|^0\.\d+$")
_LETTERED = re.compile(r"\d{1,4}([A-Za-z])")
_LETTER_INSIDE = re.compile(r"\d{1,6}[A-Z]\d{1,4}")  # 1e5 is how programs write numbers
_LABELS = 3
"""So many numbers with a word each are names."""
_CODE = re.compile(r"[+]?0\d+|\d{16,}")
_ARABIC = str.maketrans("٠١٢٣٤٥٦٧٨٩٫٬", "0123456789.,")
ENOUGH = 0.85
"""A column is typed when at least this share of its filled cells fit."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the cells of a column are read.

    Args:
        kind: what they are.
        thousands: of numbers, the separator of thousands: ``,`` or ``.``.
        unit: what stands at every number: a currency, ``%``, ``kg``.
        factors: what a number is multiplied with to be in ``unit``, by the unit that stands at it.
            A number in another unit is no number of this column.
        mixed: of texts, the units of numbers that cannot be added up.
        day_first: of dates like ``03/04/2025``.
        ambiguous: the cells do not tell whether the day comes first.
        years: numbers that are years.
        codes: texts of two capitals, of which NA may be Namibia.
        is_span: numbers are durations like ``1:39``, which are read as minutes.
        ends_in_seconds: of durations of two parts, the second are seconds.
        spaced: texts with several blanks or line breaks in a row.
        bad: the share of filled cells that do not fit, which are read as missing.
    """

    kind: Kind
    thousands: str = ","
    unit: str | None = None
    factors: Mapping[str, float] = field(default_factory=dict)
    day_first: bool = False
    ambiguous: bool = False
    years: bool = False
    codes: bool = False
    is_span: bool = False
    ends_in_seconds: bool = False
    spaced: bool = False
    bad: float = 0.0
    mixed: tuple[str, ...] = ()


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no value, in a column of numbers or dates."""
    low = text.strip().lower()
    return low in NO_VALUE or low in NO_FIGURE or low in words.every("missing")


def votes(values: Iterable[str]) -> int:
    """How many more of a column's values say that the decimal separator is the comma than the
    point."""
    bare = [value.strip(" %$€£¥₹()") for value in values]
    commas = sum(bool(_DECIMAL_COMMA.search(value)) for value in bare)
    return commas - sum(bool(_DECIMAL_POINT.search(value)) for value in bare)


def decide(
    values: Mapping[str, int], name: str, *, comma_elsewhere: bool = False, in_order: bool = False
) -> Format:
    """What a column is, by its cells as text, each with how often it stands there.

    Args:
        comma_elsewhere: the table's other columns, or its delimiter, say that decimals have a
            comma.
        in_order: the cells come in the order of the rows, by which dates may be told apart.
    """
    present = {value: n for value, n in values.items() if not is_missing(value)}
    if not present:
        return Format(Kind.TEXT)
    if all(value.strip().lower() in _BOOLEANS for value in present):
        return Format(Kind.BOOLEAN)
    if all(_YEAR.fullmatch(value.strip()) for value in present) and (
        words.names(name, "year") or _are_years(present, name)
    ):
        return Format(Kind.DATE, years=True)
    if not (any(_CODE.fullmatch(value.strip()) for value in present) or _are_codes(present)):
        result = _numbers(present, comma_elsewhere)
        if result is not None:
            return result
    return (
        _durations(present, name)
        or _dates(present, comma_elsewhere, in_order=in_order)
        or Format(
            Kind.TEXT,
            codes=_may_have_na(values),
            spaced=any(re.search(r"\s\s|[\t\r\n]", value) for value in values),
        )
    )


def _may_have_na(values: Iterable[str]) -> bool:
    """Whether NA is a code among codes of capitals (North America, Namibia) and no answer."""
    distinct = {value.strip() for value in values} - {""}
    is_answer = distinct <= {"YES", "NO", "NA", "Y", "N", "TRUE", "FALSE"}
    return (
        len(distinct) > 2
        and not is_answer
        and all(_CAPITALS.fullmatch(value) for value in distinct)
    )


def _are_years(present: Mapping[str, int], name: str) -> bool:
    """Whether numbers without the word are years, as of "Born": of this and the last century."""
    near = all(1900 <= float(value) < 2100 for value in present)
    return near and len(present) > 3 and not (
        words.names(name, "amount") or words.names(name, "rate") or words.names(name, "identifier")
    )  # fmt: skip


_CAPITALS = re.compile("[A-Z]{2,5}")
_BOOLEANS = ("true", "false")
_YEAR = re.compile(r"(1\d|20|21)\d\d(\.0)?")


def _numbers(present: Mapping[str, int], comma_elsewhere: bool) -> Format | None:
    thousands = "." if (votes(present) or comma_elsewhere) > 0 else ","
    units: dict[str, int] = {}
    total = sum(present.values())
    for value, count in present.items():
        parsed = parts(value, thousands)
        if parsed is not None:
            units[parsed[1]] = units.get(parsed[1], 0) + count
    fits = sum(units.values())
    if fits < total * ENOUGH:
        return None
    unit_counts = {unit: count for unit, count in units.items() if unit}
    if _LABELS <= len(unit_counts) == len(present) and not set(unit_counts) & set(
        CURRENCIES.values()
    ):
        return None  # "1 Rosemary", "2 Thyme": names with a number
    if len(unit_counts) > 1:
        return _of_several_units(units, total, thousands)
    unit = next(iter(unit_counts), "")
    if (
        unit_counts
        and unit_counts[unit] < fits * ENOUGH
        and unit not in ("%", *CURRENCIES.values())
    ):
        unit = ""
    return Format(Kind.NUMBER, thousands, unit or None, bad=1 - fits / total)


def _of_several_units(units: Mapping[str, int], total: int, thousands: str) -> Format:
    """Numbers in several units: in one where they can be converted or nearly all are in it, else
    texts, since a sum over them says nothing."""
    unit = max((unit for unit in units if unit), key=lambda one: units[one])
    factors = {one: factor for one in units if (factor := conversion_factor(one, unit)) is not None}
    if "" in units and set(factors) == {unit}:
        factors[""] = 1.0
    fits = sum(units[one] for one in factors)
    if fits < total * ENOUGH:
        return Format(Kind.TEXT, mixed=tuple(one for one in units if one))
    return Format(Kind.NUMBER, thousands, unit, factors, bad=1 - fits / total)


def conversion_factor(unit: str, target: str) -> float | None:
    """What a number in ``unit`` is multiplied with to be in ``target``; None where none fits."""
    one, other = _SAME.get(unit.lower(), unit.lower()), _SAME.get(target.lower(), target.lower())
    if one == other:
        return 1.0
    for measure in _MEASURES:
        if one in measure and other in measure:
            return measure[one] / measure[other]
    return None


_SAME = {"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "₹": "inr", "zł": "pln", "元": "cny"}
_MEASURES: tuple[Mapping[str, float], ...] = (
    {"mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6},
    {"ml": 1e-3, "cl": 1e-2, "dl": 1e-1, "l": 1.0, "hl": 1e2},
    {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3},
    {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hrs": 3600.0},
    {"wh": 1.0, "kwh": 1e3, "mwh": 1e6},
    {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
)
"""The units of one measure, each in its base unit."""


def _are_codes(present: Iterable[str]) -> bool:
    """Whether cells are names like 7A and 7B, or 12E3, in which a letter is neither unit nor scale
    nor a power of ten."""
    present = [value.strip() for value in present]
    if all(_LETTER_INSIDE.fullmatch(value) for value in present):
        return True
    matches = [_LETTERED.fullmatch(value) for value in present]
    letters = {m[1].upper() for m in matches if m}
    return all(matches) and (len(letters) > 1 or letters == {"B"}) and not letters <= {"K", "M"}


def parts(text: str, thousands: str) -> tuple[float, str] | None:
    """A number as people write it, with currency signs, blanks and brackets for negatives, and its
    unit, empty for none; None for no number. ``thousands``: their separator, ``,`` or ``.``."""
    body = text.strip().translate(_ARABIC).replace("−", "-")
    negative = body.startswith("(") and body.endswith(")")
    if negative:
        body = body[1:-1].strip()
    if body.endswith("-") and len(body) > 1:
        body, negative = body[:-1].rstrip(), True
    match = _SHAPE.fullmatch(body)
    if match is None:
        return None
    digits = match["digits"].strip()
    if digits.endswith((",", "'", "’")) or not (
        _GROUPED[thousands].fullmatch(digits) or (thousands == "," and _LAKHS.fullmatch(digits))
    ):
        return None
    unit = _unit(match)
    if unit is None:
        return None
    plain = re.sub(r"['’\s]", "", digits).replace(thousands, "").replace(",", ".")
    value = float(plain + (match["power"] or "")) * unit[1]
    if not math.isfinite(value):
        return None
    return (-value if negative or match["sign"] == "-" else value), unit[0]


def _unit(match: re.Match[str]) -> tuple[str, float] | None:
    """The unit around a number and what the number is multiplied with; None for no number."""
    before = match["before"].strip().lower()
    if before and before not in CURRENCIES and before not in ("~", "≈", "ca."):
        return None
    currency = CURRENCIES.get(before) or CURRENCIES.get(match["middle"]) or ""
    after = (match["after"] or "").strip().rstrip(".")
    if not after:
        return currency, 1.0
    scale = 1.0
    word, _, rest = after.partition(" ")
    key = word.rstrip(".") if word == "m" and currency else word.rstrip(".").lower()
    for sign in ("$", "€", "£"):
        if key.endswith(sign) and key[:-1] in _SCALES:
            key, rest = key[:-1], sign
    if key in _SCALES and (word != "m" or currency) and word != "b":
        scale, after = _SCALES[key], rest.strip()
    unit = CURRENCIES.get(after.lower()) or after
    if " " in unit or (currency and unit and unit != currency and len(unit) > 4):
        return None
    return (unit or currency), scale


def number(text: str, form: Format) -> float | None:
    """The number in a cell of a column of this format, None when there is none."""
    if is_missing(text):
        return None
    if form.is_span:
        return _minutes(text, ends_in_seconds=form.ends_in_seconds)
    result = parts(text, form.thousands)
    if result is None or not form.factors:
        return result[0] if result else None
    factor = form.factors.get(result[1])
    return None if factor is None else result[0] * factor


_SPAN = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")
_HOURS_FIRST = re.compile(r"\bh{1,2}:m|\bhrs?:min|\bstd\.?:min", re.IGNORECASE)
_SECONDS_LAST = re.compile(r"\bm{1,2}:s|\bmin:s", re.IGNORECASE)


def _minutes(text: str, *, ends_in_seconds: bool) -> float | None:
    """The minutes of a duration as people write it: ``1:39``, ``0:42:10``."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    first, second, third = int(match[1]), int(match[2]), int(match[3] or 0)
    if ends_in_seconds and match[3] is None:
        return first + second / 60
    return first * 60 + second + third / 60


def _durations(present: Mapping[str, int], name: str) -> Format | None:
    """Durations, where the column's name says so, for ``1:39`` alone may be a time of day, and
    minutes with seconds; or where hours of one digit have seconds, as ``0:25:40``."""
    matches = {value: _SPAN.fullmatch(value.strip()) for value in present}
    fits = sum(count for value, count in present.items() if matches[value])
    if fits < sum(present.values()) * ENOUGH:
        return None
    has_three = all(match is None or match[3] for match in matches.values())
    says_parts = has_three or _HOURS_FIRST.search(name) is not None
    hours = {match[1] for match in matches.values() if match}
    are_exact = has_three and "0" in hours and all(len(hour) == 1 for hour in hours)
    says_so = says_parts and words.names(name, "duration")
    if not (_SECONDS_LAST.search(name) or says_so or are_exact):
        return None
    return Format(
        Kind.NUMBER, unit="min", is_span=True, bad=1 - fits / sum(present.values()),
        ends_in_seconds=_SECONDS_LAST.search(name) is not None,
    )  # fmt: skip


# Dates

_CLOCK_AFTER = r"(?P<clock>\S.*)"
_SLASHED = re.compile(
    rf"(?P<one>\d\d?)([/.-])(?P<two>\d\d?)\2(?P<year>\d{{4}}|\d\d)(?:,?[T ]+{_CLOCK_AFTER})?"
)
"""Two numbers of which either may be the day."""
_SPELLINGS = [re.compile(spelling) for spelling in (
    rf"(?P<year>\d{{4}})[-/.](?P<month>\d\d?)(?:[-/.](?P<day>\d\d?))?(?:[T ]+{_CLOCK_AFTER})?",
    r"(?P<year>\d{4})-?W(?P<week>\d\d)",
    _SLASHED,
    r"(?P<month>\d\d?)[/.-](?P<year>\d{4})",
    r"(?i:[QT](?P<quarter>[1-4])[ \-/']{0,2}(?P<year>\d{4}))",
    r"(?i:(?P<quarter>[1-4])\. ?Quartal[ \-/']{0,2}(?P<year>\d{4}))",
    r"(?i:(?P<year>\d{4})[ \-/]{0,2}[QT](?P<quarter>[1-4]))",
    (r"(?P<year>\d{4})年(?:第?(?P<quarter>[1-4一二三四])季度"
     r"|(?P<month>\d\d?)月(?:(?P<day>\d\d?)[日号])?)?"),
    (r"(?:(?P<day>\d\d?)(?:st|nd|rd|th|er|º)?\.?[ -](?:de )?)?"
     r"(?P<name>[^\W\d_]{3,12})\.?,?[ -](?:de )?(?:(?P<later>\d\d?)(?:st|nd|rd|th)?,? )?"
     r"'?(?P<year>\d{4}|\d\d)(?:,? (?P<clock>\d\d?:\S.*))?"),
)]  # fmt: skip
"""How dates are written; the first that fits a text is read."""
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?(?:Z|[+-].*)?")
_FIRST_YEAR = 1000
"""Before it, "T20286" is a code and no quarter."""
_WEEKDAY = re.compile(r"^[^\W\d_]{2,10}\.?,? (?=\d)")


def moment(text: str, *, day_first: bool) -> tuple[datetime, Grain] | None:
    """A date (with its time of day) and how exact it is, from the usual spellings; else None."""
    text = text.strip().translate(_ARABIC)
    match = next(filter(None, (one.fullmatch(text) for one in _SPELLINGS)), None)
    try:
        result = _moment(match, day_first) if match is not None else None
    except ValueError:
        return None
    if result is not None:
        return result if result[0].year >= _FIRST_YEAR else None
    if (match := _WEEKDAY.match(text)) and match[0].strip(" .,").lower() in _weekday_names():
        return moment(text[match.end() :], day_first=day_first)
    return None


def _weekday_names() -> frozenset[str]:
    full = words.every("weekdays")
    return full | {name[:length] for name in full for length in (2, 3)}


def _moment(match: re.Match[str], day_first: bool) -> tuple[datetime, Grain] | None:
    """The date of a spelling; raises `ValueError` for a day that no calendar has."""
    parts = match.groupdict()
    year = int(parts["year"]) + (2000 if len(parts["year"]) == 2 else 0)
    if parts.get("week"):
        return datetime.fromisocalendar(year, int(parts["week"]), 1), Grain.WEEK
    if parts.get("quarter"):
        quarter = "1234一二三四".index(parts["quarter"]) % 4 + 1
        return datetime(year, 3 * quarter - 2, 1), Grain.QUARTER
    day, month = parts.get("day") or parts.get("later"), parts.get("month")
    if "one" in parts:
        is_day = day_first or match[2] == "."
        day, month = (match["one"], match["two"]) if is_day else (match["two"], match["one"])
    if "name" in parts:
        name = parts["name"].lower()
        number = words.months().get(name) or words.months().get(name[:3], 0)
        if not number or (name not in words.months() and len(name) > 4):
            return None
        month = str(number)
    date = datetime(year, int(month or 1), int(day or 1))
    grain = Grain.DAY if day else Grain.MONTH if month else Grain.YEAR
    return _with_clock(date, parts.get("clock"), grain)


def _with_clock(day: datetime, clock: str | None, grain: Grain) -> tuple[datetime, Grain] | None:
    if not clock:
        return day, grain
    match = _CLOCK.fullmatch(clock.strip())
    if match is None:
        return None
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4][0] in "Pp" else 0)
    result = day.replace(hour=hour, minute=int(match[2]), second=int(match[3] or 0))
    return result, Grain.HOUR if result.time() != day.time() else grain


def _dates(present: Mapping[str, int], comma_elsewhere: bool, *, in_order: bool) -> Format | None:
    matches = [m for value in present if (m := _SLASHED.fullmatch(value.strip())) and m[2] != "."]
    day_first = any(int(match["one"]) > 12 for match in matches)
    ambiguous = (
        bool(matches) and not day_first and all(int(match["two"]) <= 12 for match in matches)
    )
    if ambiguous and comma_elsewhere:  # with a decimal comma the day comes first
        day_first, ambiguous = True, False
    reading = _day_first_by_sequence(list(present), in_order=in_order) if ambiguous else None
    if reading is not None:
        day_first, ambiguous = reading, False
    total = sum(present.values())
    fits = sum(n for value, n in present.items() if moment(value, day_first=day_first))
    if fits < total * ENOUGH:
        return None
    return Format(Kind.DATE, day_first=day_first, ambiguous=ambiguous, bad=1 - fits / total)


_TELLING_DATES = 4
"""So many dates are in order, or on one weekday, by chance in one file of twelve at most."""


def _day_first_by_sequence(texts: Sequence[str], *, in_order: bool) -> bool | None:
    """Whether the day comes first, where only one reading of the dates makes sense: it puts them in
    order (rows mostly are), or all on one day of the week. None where neither or both do."""
    readings = []
    for day_first in (True, False):
        results = [moment(text, day_first=day_first) for text in texts]
        readings.append([one[0] for one in results if one is not None])
    if min(map(len, readings)) < _TELLING_DATES:
        return None
    sorted_by_reading = [
        dates in (sorted(dates), sorted(dates, reverse=True)) for dates in readings
    ]
    regular_by_reading = [len({one.weekday() for one in dates}) == 1 for dates in readings]
    if in_order and sorted_by_reading == [True, False]:  # texts in order look like months first
        return True
    return regular_by_reading[0] if regular_by_reading[0] != regular_by_reading[1] else None


def castable(text: str, form: Format) -> str | None:
    """A cell as the text that the database casts: an ISO date, a plain number."""
    if form.kind is Kind.NUMBER:
        value = number(text, form)
        return None if value is None else repr(value)
    if form.kind is Kind.BOOLEAN:
        truth = text.strip().lower()
        return truth if truth in _BOOLEANS else None
    if is_missing(text):
        return None
    if form.years:
        return f"{int(float(text)):04}-01-01"
    result = moment(text, day_first=form.day_first)
    return result[0].isoformat(sep=" ") if result else None


def looks_typed(text: str) -> bool:
    """Whether a text is a number or a date rather than a name (used to find headers). Years and
    periods are common names of columns, so they do not count."""
    if _YEAR.fullmatch(text.strip()):
        return False
    result = moment(text, day_first=False)
    is_number = parts(text, ",") is not None and not re.search(r"[^\W\d]", text)
    return (result is None and is_number) or (
        result is not None and result[1] in (Grain.DAY, Grain.HOUR)
    )  # fmt: skip
