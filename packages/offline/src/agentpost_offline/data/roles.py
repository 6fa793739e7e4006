"""What a column is for, by its name and its values (pure)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentpost_offline.data import words
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.style.numbers import is_currency

_ACRONYMS = frozenset((
    "id", "url", "api", "usd", "eur", "gbp", "kpi", "roi", "vat", "sku", "uk", "us", "eu", "co2",
    "ai", "hr", "it", "b2b",
))  # fmt: skip
_UNITS = {
    "eur": "€", "usd": "$", "gbp": "£", "chf": "CHF", "pct": "%", "percent": "%", "kg": "kg",
    "km": "km", "ms": "ms", "gb": "GB", "mb": "MB", "cm": "cm", "k": "k", "keur": "k€",
    "kusd": "k$", "meur": "M€", "musd": "M$", "h": "h", "hrs": "h", "hr": "h", "mins": "min",
    "g": "g", "s": "s", "secs": "s", "kwh": "kWh", "mwh": "MWh", "ha": "ha", "mm": "mm", "ml": "ml",
}  # fmt: skip
_BRACKETED = re.compile(r"^(.*\S)\s*[(\[]\s*(?:in )?([^()\[\]]{1,12})\s*[)\]]$")
_EACH = frozenset(
    ("unit", "each", "unitario", "unitaria", "unitaire", "stückkosten", "einzelpreis")
)
"""Words of what one piece costs."""
# Units that are plain without brackets: "Sales €", "Consumption kWh".
_TRAILING = re.compile(
    r"(.*[^\W_])\s+(?:in )?([%€$£¥₹°‰℃℉]|°[CF]|[kM](?:€|\$|£)|T€|EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK"
    r"|DKK|PLN"
    r"|[kMG]?Wh|kW|kg|km|°C|km/h|m²|mm|cm|ms|GB|MB|h|hrs|mins|secs|元|万元|亿元)"
)
_PER = re.compile(r"(?i)\b(?:per|pro|par|por|je)$")
"""What stands before the unit of "Price per kg", which is none of the price."""
_LIKE_UNIT = re.compile(
    r"[%€$£¥₹°‰℃℉]|°[CF]|[kM]?(?:€|\$|£)|k|m|[kcm]?m[²³23]?|[kmg]?g|t|h|min|s|ms|[kMGT]?W?h|[kMGT]?W|"
    r"[kMGT]?B|l|ml|hrs?|hours?|days?|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|mio\.? ?€?|mn|bn|"
    r"million|thousand|km/h|pct|percent|元|万元|亿元|万|吨|小时|T€|Tsd\.? ?€?"
)
_NO_CODES = re.compile(
    r"^no-[^\W\d]{3,}|\b(?:length|size|width|height|depth|area|longueur|taille|largeur|hauteur|surface"
    r"|longitud|tamaño|anchura|altura|superficie)\b",
    re.IGNORECASE,
)
"""Names with a word of codes that are none: "No-shows", "Track length"."""
_NUMBERED = re.compile(r"(?:n[°º]|nr\b\.?|no\.|[#№])\s*\w", re.IGNORECASE)
"""As in "N° ruche" and "No. order"."""
_SERIES = 20
"""So many rows have to be numbered one after the other, whatever their column is called."""
_CODE = re.compile(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9_\-/.]*")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a column's values show: in how many rows there is one, how many are different, whether
    all numbers are whole and their range, how long texts are on average, and some of the values."""

    rows: int
    distinct: int
    whole: bool = False
    lowest: float = 0.0
    highest: float = 0.0
    length: float = 0.0
    values: Sequence[str] = ()


def label_of(name: str) -> tuple[str, str | None]:
    """A column's name as people read it, and the unit that is in the name: ``revenue_eur`` is
    ``Revenue`` in ``€``."""
    unit = None
    base = name.strip()
    if (match := _BRACKETED.match(base)) and _LIKE_UNIT.fullmatch(match[2].strip()):
        base, unit = match[1], _UNITS.get(match[2].strip().lower(), match[2].strip())
    elif (match := _TRAILING.fullmatch(base)) is not None and not _PER.search(match[1]):
        base, unit = match[1], _UNITS.get(match[2].lower(), match[2])
    text = re.sub(r"(?<=[a-z0-9]{2})(?=[A-Z][a-z])", " ", base)
    parts = re.sub(r"[_\s]+", " ", text).strip().split(" ")
    has_unit = len(parts) > 1 and "_" in base and not _PER.search(parts[-2])
    if unit is None and has_unit and parts[-1].lower() in _UNITS:
        unit = _UNITS[parts.pop().lower()]
    if not parts or not parts[0]:
        return name, unit
    if base.isupper() or base.islower() or "_" in base or text != base:
        parts = [p.upper() if p.lower() in _ACRONYMS else p.lower() for p in parts]
    first = parts[0]
    parts[0] = first[0].upper() + first[1:] if first.islower() else first  # "pH", "kWh"
    return " ".join(parts), unit


def role(name: str, kind: Kind, unit: str | None, facts: Facts) -> Role:
    """What a column is for."""
    if kind is Kind.DATE:
        return Role.TIME
    if kind is Kind.BOOLEAN:
        return Role.CATEGORY
    identifying = (
        _ends_as_number(name)
        or _NUMBERED.match(name.strip()) is not None
        or (words.names(name, "identifier") and not _NO_CODES.search(name))
    )
    if kind is Kind.TEXT:
        return _of_text(identifying, facts)
    if unit in ("%", "‰", "°C", "°F", "℃", "℉"):
        return Role.RATE
    if _is_rate(name) or _names_reading(name, unit):
        return Role.RATE
    is_number = words.tokens(name) == ["number"] and _counts_up(facts, _FEW_NUMBERED)
    is_name = (facts.whole and identifying) or is_number or _counts_up(facts)
    is_numbered = facts.distinct == facts.rows and (
        (identifying and _ends_as_code(name)) or _is_series(facts)
    )
    if is_name and unit is None and (is_numbered or not words.names(name, "amount")):
        return Role.IDENTIFIER
    if _is_calendar(name, facts):
        return Role.CATEGORY
    are_parts = not facts.whole and facts.lowest >= 0 and facts.highest <= 1 and facts.rows > 3
    if are_parts and not is_currency(unit):
        return Role.RATE
    return Role.AMOUNT


def is_additive(column: Column) -> bool:
    """Whether the values of a column surely add up: by its name, or since they are money or a
    physical quantity. Stocks and counts of people do not, over time."""
    if column.formula:
        return column.role is Role.AMOUNT
    if column.role is not Role.AMOUNT or words.names(column.name, "level"):
        return False
    is_quantity = column.name.casefold() in _QUANTITIES
    return is_quantity or column.unit is not None or any(
        words.names(column.name, key) for key in ("amount", "money")
    )  # fmt: skip


_QUANTITIES = frozenset(("g", "ha", "hl", "kg", "km", "kwh", "l", "m²", "m³", "mwh", "t"))
"""What a column of quantities is called by its unit alone."""
_WEIGHED = frozenset(("g", "kg", "t", "ml", "l"))
_PIECES = re.compile(
    r"\b(?:stk|stück|kg|kilos?|nights?|pcs?|pieces|units?|uds|unidades|piezas|pièces|pces)\b|件|个|قطع",
    re.IGNORECASE,
)


def counts_pieces(column: Column) -> bool:
    """Whether a column says how many pieces there are of what has a price."""
    has_pieces = column.unit in _WEIGHED or _PIECES.search(column.name) is not None
    return column.role is Role.AMOUNT and has_pieces


def is_reading(column: Column) -> bool:
    """Whether a column holds the readings of a meter, or a running balance: they are neither added
    up nor averaged."""
    return column.kind is Kind.NUMBER and _names_reading(column.name, column.unit)


_METERED = frozenset(("kWh", "MWh", "Wh", "m³", "m3", "km", "l"))


def _names_reading(name: str, unit: str | None) -> bool:
    return words.names(name, "reading") or (unit in _METERED and words.names(name, "meter"))


def currencies(
    columns: Sequence[Column], measures: Sequence[Column], *, is_narrow: bool = False
) -> Column | None:
    """The column that tells in which of several currencies or units the measured amounts are.

    Args:
        columns: of the table.
        measures: the columns that are computed.
        is_narrow: whether the rows are some of all, or in groups. Those of one substance have one
            unit, but may be paid in several currencies.
    """
    if all(one.unit is not None or words.names(one.name, "pieces") for one in measures):
        return None
    for column in columns:
        codes = [value for value in column.values if is_currency(value.strip())]
        tells_units = not is_narrow and {*words.tokens(column.name)[-1:]} & words.every("unit")
        if len(column.values) > 1 and (tells_units or len(codes) == len(column.values)):
            return column
    return None


def is_scale(column: Column) -> bool:
    """Whether numbers are marks on a scale of up to six, of which the lowest may be the best."""
    low, high = column.first, column.last
    return (
        isinstance(low, float) and isinstance(high, float) and low >= 0.5 and high <= 6
        and column.unit is None and not is_additive(column)
    )  # fmt: skip


_MONEY = re.compile(
    r"revenue|sales|turnover|income|umsatz|erlös|ventas|ingresos|chiffre|recette|vente"
    r"|销售额|收入|营业额|مبيعات|إيراد|ايراد",
    re.IGNORECASE,
)


def worth(column: Column) -> int:
    """How likely a column of numbers is the one that its table is about: money first."""
    has_money_name = bool(_MONEY.search(column.name) or _MONEY.search(column.label))
    amount = column.role is Role.AMOUNT
    is_money = is_currency(column.unit) or words.names(column.name, "money")
    return 4 * has_money_name + 2 * amount + is_money


def _ends_as_number(name: str) -> bool:
    """Whether a name ends as "invoice number", "Rechnungsnr" and "numéro client" do; the "number of
    rooms" is an amount."""
    parts = words.tokens(name)
    last = parts[-1] if parts else ""
    return (len(parts) > 1 and last in ("number", "numbers", "nummer", "número", "numéro")) or (
        len(last) > 4 and last.endswith(("nummer", "nr", "kennung"))
    )


def _ends_as_code(name: str) -> bool:
    """Whether the last word of several says that things are numbered: "Sale no", "order id"."""
    parts = words.tokens(name)
    return len(parts) > 1 and parts[-1] in words.every("identifier")


def _is_rate(name: str) -> bool:
    """Whether a name speaks of a rate. The last word that says anything decides: the "price
    increase total" is a total; but "cost per unit" is a rate."""
    parts = words.tokens(name)
    if "per" in parts or "pro" in parts or "/" in name or _EACH & set(parts):
        return True
    if parts[:1] in (["total"], ["gesamtpreis"]):
        return False
    if words.names(name, "rate"):
        last_rate = max((i for i, w in enumerate(parts) if w in words.every("rate")), default=0)
        last_amount = max(
            (i for i, w in enumerate(parts) if w in words.every("amount")), default=-1
        )
        average_words = {"average", "avg", "mean", "median", "durchschnitt", "promedio", "moyenne"}
        return last_rate > last_amount or bool(average_words & set(parts))
    # German writes compounds: Stückpreis, Wachstumsrate.
    return any(
        len(w) > 6 and w.endswith(("preis", "rate", "quote", "anteil", "temperatur")) for w in parts
    )


_FEW_NUMBERED = 4
"""As many rows a column that is only called "Number" numbers, and does not count, at least."""


def _counts_up(facts: Facts, least: int = 8) -> bool:
    """Whether numbers only name their rows: whole, all different, without large gaps."""
    if not facts.whole or facts.rows < least or facts.distinct < facts.rows:
        return False
    span = facts.highest - facts.lowest + 1
    return facts.lowest >= 0 and span <= facts.rows * 1.5


def _is_series(facts: Facts) -> bool:
    """Whether whole numbers follow each other without gaps worth naming, as those of receipts."""
    span = facts.highest - facts.lowest + 1
    return facts.whole and facts.rows >= _SERIES and span <= facts.rows * 1.05


def _is_calendar(name: str, facts: Facts) -> bool:
    """Whether numbers are months, quarters or days of the week without a date."""
    is_within = facts.whole and facts.lowest >= 0 and facts.highest <= 12 and facts.distinct > 1
    return is_within and any(words.names(name, key) for key in ("month", "quarter", "weekday"))


def _of_text(identifying: bool, facts: Facts) -> Role:
    unique = facts.distinct >= 0.9 * facts.rows and facts.rows > 3
    are_codes = bool(facts.values) and all(_CODE.fullmatch(v) for v in facts.values)
    if (identifying and facts.distinct * 2 > facts.rows) or (unique and are_codes):
        return Role.IDENTIFIER
    if identifying and are_codes:
        return Role.IDENTIFIER
    if facts.length > 60 or (unique and facts.length > 35):
        return Role.TEXT
    return Role.CATEGORY
