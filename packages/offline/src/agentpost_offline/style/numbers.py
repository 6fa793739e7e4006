"""Numbers as people write them: a real minus sign, the language's separators and its own short
scales (81.8k, 81,8 Tsd., 8.18万), in one format for each picture."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from agentpost_offline.style.languages import Language, language

MINUS = "−"
PERCENT = "%"
CURRENCIES = {
    "$": "$", "€": "€", "£": "£", "¥": "¥", "₹": "₹", "₽": "₽", "₩": "₩", "元": "元", "us$": "$",
    "zł": "zł", "kr": "kr", "r$": "R$", "rmb": "RMB",
    **{sign: sign for sign in "₺₴₪฿₫₱"},
    **{code.casefold(): code for code in (
        "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "AED",
        "SAR", "EGP", "MXN", "BRL", "CAD", "AUD", "TRY", "ZAR", "KRW",
    )},
}  # fmt: skip
"""The signs and codes of money in lower case, each with its spelling in a unit."""
_SHORT_FROM = 10_000.0
_PLAIN_BELOW = 100_000.0
_LARGEST = 1e15


def is_currency(unit: str | None) -> bool:
    """Whether a unit is money: a sign or a code."""
    return bool(unit) and str(unit).casefold() in CURRENCIES


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """One way to write the numbers of a picture. ``unit`` is written with `text`, never with
    `bare`; values are divided by ``divisor``, for which ``suffix`` stands; ``digits``: decimals."""

    code: str
    unit: str = ""
    divisor: float = 1.0
    suffix: str = ""
    digits: int = 0

    def bare(self, value: float, *, digits: int | None = None) -> str:
        """The number without its unit; percent signs stay, since they change what it says."""
        text = self._number(value, self.digits if digits is None else digits)
        return language(self.code).percent.format(text) if self.unit == PERCENT else text

    def text(self, value: float) -> str:
        """The number with its unit, as in a sentence."""
        return with_unit(self._number(value, self.digits), self.unit, self.code)

    def tick(self, value: float, step: float) -> str:
        """The number on an axis whose lines are ``step`` apart."""
        if not value:
            return self.bare(0.0, digits=0).removesuffix(self.suffix)
        return self.bare(value, digits=_step_digits(step / self.divisor))

    def excel(self, step: float | None = None) -> str:
        """The same format as a spreadsheet writes it, as far as it can; on an axis whose lines are
        ``step`` apart."""
        thousands = math.log(self.divisor, 1000) if self.divisor > 1 else 0.0
        if abs(thousands - round(thousands)) > 1e-9:
            return "#,##0"
        digits = self.digits if step is None else _step_digits(step / self.divisor)
        places = "." + "0" * digits if digits else ""
        suffix = self.suffix + ("%" if self.unit == PERCENT else "")
        quoted = f'"{suffix}"' if suffix else ""
        return f"#,##0{places}{',' * round(thousands)}{quoted}"

    def _number(self, value: float, digits: int) -> str:
        return plain(value / self.divisor, digits, language(self.code)) + self.suffix


def _step_digits(step: float) -> int:
    digits = 0
    while digits < 6 and abs(step * 10**digits - round(step * 10**digits)) > 1e-6:
        digits += 1
    return digits


def plain(value: float, digits: int, tongue: Language) -> str:
    """A number with exactly that many decimals, the language's separators and a real minus."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= _LARGEST:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa.replace('.', tongue.decimal)}e{int(exponent)}".replace("-", MINUS)
    text = f"{abs(value):,.{digits}f}"
    whole, _, rest = text.partition(".")
    if abs(value) < tongue.grouped_from:
        whole = whole.replace(",", "")
    whole = whole.replace(",", tongue.thousands)
    is_negative = value < 0 and any(c in "123456789" for c in text)
    return (MINUS if is_negative else "") + whole + (tongue.decimal + rest if rest else "")


def with_unit(number: str, unit: str | None, code: str) -> str:
    """A written number with its unit: ``€81.8k``, ``81,8 Tsd. €``, ``−8.5 °C``, ``13%``."""
    tongue = language(code)
    if not unit:
        return number
    if unit == PERCENT:
        return tongue.percent.format(number)
    if is_currency(unit):
        if len(unit) > 1:
            return f"{number}\u00a0{unit}"
        sign = MINUS if number.startswith(MINUS) else ""
        return sign + tongue.currency.format(unit=unit, number=number.removeprefix(MINUS))
    return tongue.unit.format(unit=unit, number=number)


def format_for(
    values: Iterable[float], unit: str | None = None, code: str = "en", *, compact: bool = False
) -> NumberFormat:
    """The one format that suits all of a picture's values; ``compact`` when it must be short."""
    sizes = [abs(v) for v in values if math.isfinite(v)]
    largest = max(sizes, default=0.0)
    nonzero = [s for s in sizes if s > 0]
    smallest = min(nonzero, default=0.0)
    tongue = language(code)
    for divisor, suffix in tongue.scales if _SHORT_FROM <= largest < _LARGEST else ():
        if largest >= divisor:
            few = largest < _PLAIN_BELOW and smallest < divisor and len(nonzero) > 1
            if few and not compact:
                return NumberFormat(code, unit or "", digits=0)
            digits = _digits([size / divisor for size in nonzero])
            return NumberFormat(code, unit or "", divisor, suffix, digits)
    digits = _digits(nonzero)
    return NumberFormat(code, unit or "", digits=2 if digits == 1 and is_currency(unit) else digits)


def _digits(sizes: list[float]) -> int:
    """Decimals so that the largest has about three digits, and none that are zero everywhere."""
    largest = max(sizes, default=0.0)
    if not largest or largest >= 1000:
        return 0
    if largest >= 10:
        most = 1
    else:
        most = 2 if largest >= 0.1 else min(6, 1 - math.floor(math.log10(largest)))
    while most and all(abs(round(s, most) - round(s, most - 1)) < 10 ** -(most + 3) for s in sizes):
        most -= 1
    return most


def short(value: float, unit: str | None = None, code: str = "en") -> str:
    """One number for a sentence or a key figure, with its unit: ``€81.8k``."""
    return format_for([value], unit, code).text(value)


def full(value: float, unit: str | None = None, code: str = "en") -> str:
    """A number as an answer states it: with all digits that matter, at most two decimals of a
    number above one tenth."""
    digits = 0
    if value != round(value):
        digits = 2
        while digits < 8 and abs(value) < 10 ** (1 - digits):
            digits += 1
    return with_unit(plain(value, digits, language(code)), unit, code)


def percent(value: float, code: str = "en", *, signed: bool = False) -> str:
    """A percentage with the decimals it needs: ``13%``, ``0.4%``, ``+71%``."""
    digits = 0 if abs(value) >= 10 or abs(value - round(value)) < 0.05 else 1
    text = language(code).percent.format(plain(value, digits, language(code)))
    return f"+{text}" if signed and value > 0 and not text.startswith("0%") else text
