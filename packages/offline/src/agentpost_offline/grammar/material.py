"""What a table offers to a request: its columns and values, by the words that name them."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agentpost_offline.data import roles, words as words_of_tables
from agentpost_offline.data.formulas import Columns, Sign, by_name, formula
from agentpost_offline.data.model import Column, Kind, Role, Table
from agentpost_offline.frame import Filter, Grain, Measure, Op
from agentpost_offline.grammar.text import HAN, fold, name_tokens, normal, tokens as text_tokens
from agentpost_offline.grammar.vocabulary import (
    Lexicon,
    carry_of,
    concept_of,
    synonyms,
    without_brackets,
)
from agentpost_offline.style import dates
from agentpost_offline.style.numbers import is_currency

Keys = tuple[str, ...]
_VALUE_WORDS = 8
_PAIR = 2
"""Words of a name that may stand in the other order."""
_FEW = 12


@dataclass
class Material:
    """A table's columns and values, in the keys of one language."""

    table: Table
    columns: dict[Keys, list[str]] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    """Columns by single words of their names."""
    concepts: dict[str, list[str]] = field(default_factory=dict)
    values: dict[Keys, list[tuple[str, str]]] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)
    """Words of names and values of five and more letters, folded, for typos."""
    value_parts: dict[Keys, list[tuple[str, str]]] = field(default_factory=dict)
    """Values of several words by some of them: "Acme" of "Acme Ltd"."""
    value_words: set[str] = field(default_factory=set)
    """The single words of all values."""
    own: frozenset[str] = frozenset()
    """The words of the table's own name, stemmed: "orders" of ``orders.csv`` are its rows."""
    own_words: frozenset[str] = frozenset()
    """The same words, folded."""
    names: frozenset[str] = frozenset()
    """These, and those of the workbook's name where the table is its main sheet."""
    longest: int = 1

    def column(self, name: str) -> Column:
        """The column of this name."""
        return self.columns_by_name[name]

    @cached_property
    def columns_by_name(self) -> Columns:
        """The columns of the table, and the figures of two of them."""
        return by_name(self.table)

    def is_best_highest(self, measures: Sequence[Measure]) -> bool | None:
        """Whether the best of some figures is surely the highest; False where surely the worst is,
        None where that cannot be told."""
        columns = [self.column(one.column) for one in measures if one.column]
        if all(map(is_better_higher, columns)):
            return True
        return False if all(map(is_worse_higher, columns)) else None

    def is_yes(self, one: Filter) -> bool:
        """Whether a condition is on the "yes" of a column of yes and no."""
        return one.values == (yes_value(self.column(one.column)),)

    def narrow(self, names: Sequence[str]) -> tuple[str, ...]:
        """Of several columns that a word fits, those that people mean: a name before its number."""
        texts = tuple(one for one in names if self.column(one).role is not Role.IDENTIFIER)
        return texts if len(names) > 1 and texts else tuple(names)

    def is_row(self, names: Sequence[str]) -> bool:
        """Whether one of the columns has another value in each row."""
        return any(self.column(one).distinct >= self.table.rows > 1 for one in names)

    @property
    def row_name(self) -> str | None:
        """The column that names the rows: of members or invoices, whose number need not be what
        is asked for; None where rows are only measured."""
        rows = [one for one in self.groups if self.is_row([one.name])]
        rows.sort(key=lambda one: (one.role is Role.IDENTIFIER, one.kind is Kind.NUMBER))
        return rows[0].name if rows else None

    @property
    def people(self) -> tuple[str, ...]:
        """The columns that name people, by their names."""
        called = self.concepts.get("person") or self.concepts.get("customer") or [
            one.name for one in self.groups if words_of_tables.names(one.name, "person")
        ]  # fmt: skip
        columns = map(self.column, self.narrow(called))
        return tuple(one.name for one in columns if one.kind is Kind.TEXT and not yes_value(one))

    def names_people(self, name: str) -> bool:
        """Whether a column names people or firms, by its name."""
        of_concepts = (*self.concepts.get("person", ()), *self.concepts.get("customer", ()))
        return name in of_concepts or words_of_tables.names(name, "person")

    @property
    def full_name(self) -> tuple[str, ...]:
        """The columns of first names and of family names; empty unless there is one of each."""
        names = [one.name for kind in _FULL_NAMES for one in self.table.columns
                 if one.kind is Kind.TEXT and fold(one.name) in kind]  # fmt: skip
        return tuple(names) if len(names) == len(_FULL_NAMES) else ()

    @property
    def person(self) -> str | None:
        """The only column that names people."""
        return self.people[0] if len(self.people) == 1 else None

    @property
    def numbers(self) -> list[Column]:
        """Columns that may be measured, the one that the table is about first."""
        return sorted(
            (one for one in self.table.columns
             if one.kind is Kind.NUMBER and one.role in (Role.AMOUNT, Role.RATE)),
            key=lambda one: -roles.worth(one),
        )  # fmt: skip

    def is_price_of_row(self, column: Column) -> bool:
        """Whether a column is the price of what each row is, since none says how many: a rental,
        but nothing of a price list."""
        if self.row_name and not self.date_columns:
            return False
        is_price = is_currency(column.unit) or concept_of(column.name) == "price"
        is_price = is_price and not _OF_ONE.search(column.name)
        quantities = [
            *map(self.column, (*self.concepts.get("quantity", ()), *self.concepts.get("sold", ()))),
            *filter(roles.counts_pieces, self.numbers),
        ]
        says_how_many = not all(map(_is_measured, quantities))
        return column.role is Role.RATE and is_price and not says_how_many

    @property
    def takings(self) -> list[str]:
        """The columns of money that "sales" or "takings" may mean where none is called so."""
        return [] if _SPENT & set(map(concept_of, self.own_words)) else self._money

    @cached_property
    def owed(self) -> str | None:
        """What is due and was not paid, as a figure of two columns; None unless there is one of
        each."""
        amounts = [one for one in self.numbers if one.role is Role.AMOUNT and not one.formula]
        paid = [one for one in amounts if is_of_payment(one.name)]
        due = [one for one in amounts if one not in paid and (
            is_currency(one.unit) or any(
                words_of_tables.names(one.name, key) for key in ("money", "due")
            )
        )]  # fmt: skip
        if len(paid) != 1 or len(due) != 1:
            return None
        return formula(due[0], Sign.MINUS, paid[0])

    @property
    def spendings(self) -> list[str]:
        """The columns of money that "costs" may mean where no figure is called takings or costs."""
        return [name for name in self._money if roles.is_additive(self.column(name))]

    @property
    def _money(self) -> list[str]:
        if self.concepts.keys() & {"revenue", "cost"}:
            return []
        money = [
            one for one in self.numbers
            if is_currency(one.unit) or concept_of(one.name) in ("amount", "price")
        ]  # fmt: skip
        others = [one for one in self.numbers if words_of_tables.names(one.name, "money")]
        money = list(filter(self._adds_up, money)) or list(filter(self._adds_up, others))
        money = list(filter(roles.is_additive, money)) or money  # the "Total £" beside a "Price £"
        for concept in ("amount", "price"):
            if best := [one.name for one in money if concept_of(one.name) == concept]:
                return best
        return [one.name for one in money if concept_of(one.name) is None]

    def _adds_up(self, money: Column) -> bool:
        """Whether money of all rows is a figure: the "Total" of each, but not its "Unit price"."""
        is_sum = roles.is_additive(money) or concept_of(money.name) == "amount"
        # Pieces below zero are those that came back, and their money is what was paid back.
        pieces = map(self.column, self.concepts.get("quantity", ()))
        is_ledger = _is_negative(money) and not any(map(_is_negative, pieces))
        return (is_sum or self.is_price_of_row(money)) and not is_ledger

    @property
    def date_columns(self) -> list[Column]:
        """Columns of dates; one that is only called "date" stands first, and is meant unasked."""
        columns = [one for one in self.table.columns if one.kind is Kind.DATE]
        plain = [one for one in columns if _is_called_date(one)]
        return sorted(columns, key=lambda one: one not in plain[:1])

    @property
    def has_plain_date(self) -> bool:
        """Whether the first column of dates is called "date" and nothing else."""
        return any(map(_is_called_date, self.date_columns[:1]))

    @property
    def groups(self) -> list[Column]:
        """Columns whose values make groups."""
        return [
            one for one in self.table.columns
            if one.role is Role.CATEGORY or (one.role is Role.IDENTIFIER)
        ]  # fmt: skip


NO_TABLE = Material(Table("", "", "", 0, ()))
"""What a request is read over where there is no table."""


def material_of(table: Table, words: Lexicon) -> Material:
    """Index a table's names and values for a language."""
    result = Material(table)
    whole = {normal(column.name) for column in table.columns}
    for column in table.columns:
        plain = without_brackets(column.name).removeprefix("是否") or column.name
        if plain in whole:  # "v (2)" is the second of two columns that a file calls "v"
            plain = column.name
        for name in dict.fromkeys((column.name, column.label, plain)):
            _add_column(result, column, name, words)
        _add_unit(result, column, words)
        concept = concept_of(column.name)
        if concept is not None and (concept == "date") == (column.kind is Kind.DATE) and not (
            numbers_a_figure(column)
        ):  # fmt: skip
            result.concepts.setdefault(concept, []).append(column.name)
        is_count = column.kind is Kind.NUMBER and column.role is Role.AMOUNT
        if is_count and not is_currency(column.unit) and carry_of(column.name) == "sold":
            result.concepts.setdefault("sold", []).append(column.name)
        if column.kind in (Kind.TEXT, Kind.BOOLEAN):
            for value in column.values:
                _add_value(result, column, value, words)
    for entries in [*result.values.values()]:
        for synonym in synonyms(entries[0][1]):
            for keys in _spellings(name_tokens(synonym), words) - result.columns.keys():
                result.values.setdefault(keys, entries)
                result.longest = max(result.longest, len(keys))
    _add_formulas(result)
    for column in table.columns:
        tokens = name_tokens(without_brackets(column.name))
        if len(tokens) == _PAIR and not any(map(str.isdigit, tokens)):  # "pagado marzo"
            for keys in _spellings(tokens[::-1], words):
                result.columns.setdefault(keys, [column.name])
    file, _, sheet = table.name.rpartition(", ")
    stem = sheet.rpartition(".")[0] or sheet
    items = [word for word in name_tokens(stem) if len(word) > 2]
    items += [word[-_PAIR:] for word in re.findall(f"[{HAN}]{{2,}}", stem)]  # "印刷店订单"
    result.own_words = frozenset(map(fold, items))
    if file and table.rows >= _LOG_ROWS:  # the falls of the sheet "Incidents" of ``falls.xlsx``
        items += [word for word in name_tokens(file.rpartition(".")[0]) if len(word) > 2]
    figures = {words.key(word) for one in result.numbers for word in name_tokens(one.name)}
    # The "output" of ``output.csv`` is what its column "Output kWh" holds, and no row.
    result.own = frozenset(map(words.key, items)) - figures
    result.names = frozenset(map(fold, items))
    return result


_LOG_ROWS = 30
"""Fewer rows of a sheet hardly are what its workbook is called by."""
_FULL_NAMES = (
    frozenset(("vorname", "first name", "firstname", "first_name", "forename", "given name",
               "prenom", "nombre", "名", "الاسم الاول")),
    frozenset(("nachname", "surname", "last name", "lastname", "last_name", "family name", "nom",
               "name", "familienname", "apellido", "apellidos", "姓", "اللقب")),
)  # fmt: skip
"""What first names and family names are called, where each has a column of its own."""
_FORMULAS = (
    ("profit", "revenue", Sign.MINUS, "cost"),
    ("revenue", "quantity", Sign.TIMES, "price"),
    ("worth", "stock", Sign.TIMES, "price"),
    ("worth", "quantity", Sign.TIMES, "price"),
)


def _add_formulas(material: Material) -> None:
    """What two columns make together where no column says it: what was earned and what it cost
    are a profit, pieces and the price of one are what was sold for."""
    numbers = {
        concept: [one for one in map(material.column, names) if one.kind is Kind.NUMBER]
        for concept, names in material.concepts.items()
    }
    for concept, first, sign, second in _FORMULAS:
        left, right = numbers.get(first, []), numbers.get(second, [])
        is_there = concept in material.concepts or (concept == "revenue" and material.takings)
        if is_there or len(left) != 1 or len(right) != 1:
            continue
        if sign is Sign.TIMES and (
            right[0].role is not Role.RATE or set(material.concepts.get("amount", ())) - {
                left[0].name, right[0].name
            }
        ):  # fmt: skip
            continue  # what all pieces of a row cost together
        if sign is Sign.TIMES and _is_measured(left[0]) and not _OF_ONE.search(right[0].name):
            continue  # the price of a move is not that of each of its cubic metres
        if name := formula(left[0], sign, right[0]):
            material.concepts[concept] = [name]


def _add_unit(material: Material, column: Column, words: Lexicon) -> None:
    """A column may be called by its unit, as "kilos" where nothing else is in kilograms."""
    names = _UNITS.get((column.unit or column.name).casefold(), "")
    if column.kind is not Kind.NUMBER or column.role not in (Role.AMOUNT, Role.RATE):
        return
    is_unit = column.name.casefold() in _UNITS  # "Kg" is what kilos are, and not "Bruised kg"
    for name in names.split():
        among = material.parts.setdefault(words.key(name), [])
        if is_unit:
            among[:] = [column.name]
        elif column.name not in among and not any(one.casefold() in _UNITS for one in among):
            among.append(column.name)


_OF_ONE = re.compile(r"(?i)\b(?:per|each|pro|je|par|du|de la|por|cada|unit\w*)\b|/")
"""What a price of one piece is called by: "price per litre", "prix du stère"."""
_UNITS = {
    "g": "g gram grams gramm gramme grammes gramos 克 جرام",
    "kg": "kg kilo kilos kilogramm kilogrammes kilogramos 公斤 كيلو",
    "l": "l liter liters litre litres litros 升 لتر",
    "min": "minutes minuten minutos 分钟 دقائق",
    "h": "hours hrs stunden horas heures 小时 ساعات",
    "km": "km kilometer kilometers kilometres kilómetros kilomètres 公里",
    "kwh": "kwh kilowattstunden energy electricity strom énergie électricité energía 电量 كهرباء",
}
"""What people call units."""


def reaches(column: Column, op: Op, value: float) -> bool:
    """Whether a condition leaves some rows of a column: "over 10k" is of no time in minutes."""
    low, high = column.first, column.last
    if not (isinstance(low, float) and isinstance(high, float)):
        return True
    if op in (Op.ABOVE, Op.AT_LEAST):
        return value <= high
    return value >= low if op in (Op.BELOW, Op.AT_MOST) else True


_FIGURES = frozenset(("revenue", "cost", "profit", "amount", "price"))


def numbers_a_figure(column: Column) -> bool:
    """Whether a column's name is that of a figure but it only numbers the rows: the "Sale no"."""
    return column.role is Role.IDENTIFIER and concept_of(column.name) in _FIGURES


_SPENT = frozenset(("cost", "budget", "salary"))
_BETTER_HIGHER = ("revenue", "profit", "margin", "quantity", "orders", "rating")
_BETTER_LOWER = ("cost", "price", "hours", "age", "temperature", "budget", "salary", "stock")


def is_better_higher(column: Column) -> bool:
    """Whether the best of a column of numbers is surely the highest."""
    concept = concept_of(column.name)
    if column.unit == "%":  # of a rate
        return concept == "margin"
    if is_better_lower(column):
        return False
    return concept in _BETTER_HIGHER or roles.is_additive(column)


def is_better_lower(column: Column) -> bool:
    """Whether the best of a column of numbers is surely the lowest: of a race, of costs."""
    is_time = column.unit in ("min", "s")
    return is_time or is_worse_higher(column) or concept_of(column.name) in _BETTER_LOWER


def is_worse_higher(column: Column) -> bool:
    """Whether the worst of a column of numbers is surely the highest: of delays, of what is wasted,
    and not of every time in minutes, which may be practice."""
    return words_of_tables.names(column.name, "worse")


_MEANT = {
    "female": frozenset(("female", "f", "w", "woman", "weiblich", "femme", "mujer", "女", "أنثى")),
    "male": frozenset(("male", "m", "man", "männlich", "homme", "hombre", "男", "ذكر")),
    "usd": frozenset(("usd", "$", "us$")),
    "eur": frozenset(("eur", "€")),
    "gbp": frozenset(("gbp", "£")),
    "chf": frozenset(("chf",)),
    "north": frozenset(("north", "nord", "norte", "北", "北部", "شمال", "الشمال")),
    "south": frozenset(("south", "süd", "sud", "sur", "南", "南部", "جنوب", "الجنوب")),
    "east": frozenset(("east", "ost", "este", "est", "东", "东部", "شرق", "الشرق")),
    "west": frozenset(("west", "oeste", "ouest", "西", "西部", "غرب", "الغرب")),
    "income": frozenset((
        "income", "in", "money in", "receipts", "einnahme", "einnahmen", "eingang",
        "ingreso", "ingresos", "recette", "recettes", "收入", "进账", "إيراد", "إيرادات",
    )),
    "expense": frozenset((
        "expense", "expenses", "out", "money out", "ausgabe", "ausgaben", "ausgang",
        "gasto", "gastos", "dépense", "dépenses", "支出", "开支", "مصروف", "مصروفات",
    )),
    "unpaid": frozenset((
        "unpaid", "open", "overdue", "outstanding", "due", "not paid", "offen", "überfällig",
        "unbezahlt", "ausstehend", "pendiente", "vencida", "vencido", "impagada", "impagado",
        "impayé", "impayée", "en retard", "en attente", "未付", "逾期", "未缴", "غير مدفوع",
        "متأخر",
    )),
}  # fmt: skip
_DIRECTIONS = frozenset(("in", "out"))
"""Values that are of money only in a column of kinds: keys are in and out, too."""
_PAID = frozenset(("paid", "bezahlt", "pagado", "pagada", "payé", "payée", "已付", "已缴", "已缴费",
                   "已付款", "缴费", "付款", "已支付", "مدفوع", "مدفوعة"))  # fmt: skip


def value_meant(material: Material, meaning: str) -> list[tuple[str, str]]:
    """The values of a table that mean something: "women" are ``female``, and who owes something is
    unpaid, open or overdue, or has no day of payment: ``""`` stands for no value."""
    pairs = [
        (column.name, value)
        for column in material.table.columns if column.distinct <= _FEW
        for value in column.values if value.casefold() in _MEANT.get(meaning, ())
    ]  # fmt: skip
    if meaning in ("income", "expense"):  # of a cash book, which has both
        pairs = [
            (name, value) for name, value in pairs
            if value.casefold() not in _DIRECTIONS or concept_of(name) == "category"
        ]  # fmt: skip
        other = _MEANT["expense" if meaning == "income" else "income"]
        return [(name, value) for name, value in pairs
                if other & {one.casefold() for one in material.column(name).values}]  # fmt: skip
    if meaning == "unsold" and not pairs:
        return [(one.name, no_value(one)) for one in material.table.columns
                if carry_of(one.name) == "sold" and no_value(one)]  # fmt: skip
    if meaning == "undone":
        if value_meant(material, "unpaid"):
            return []
        done = [one for one in material.table.columns if words_of_tables.names(one.name, "done")]
        flags = [(one.name, no_value(one)) for one in done if no_value(one)]
        return flags or [
            (one.name, "") for one in done if one.kind is Kind.DATE and one.missing
        ]  # fmt: skip
    if meaning != "unpaid":
        return pairs
    paid = [one for one in material.table.columns if is_of_payment(one.name)]
    if flags := [(one.name, no_value(one)) for one in paid if no_value(one)]:
        return flags  # an order may be open for another reason
    return pairs or [(one.name, "") for one in paid if one.kind is Kind.DATE and one.missing]


def is_of_payment(name: str) -> bool:
    """Whether a column of this name says what was paid."""
    return bool(
        _PAID & {name, *(word.casefold() for word in name_tokens(name.removeprefix("是否")))}
    )


_NO = frozenset(("no", "n", "false", "nein", "non", "否", "لا", "falsch", "falso", "faux"))


_YES = frozenset(("yes", "y", "true", "ja", "sí", "si", "oui", "是", "نعم", "wahr", "vrai"))


def yes_value(column: Column) -> str:
    """The "yes" of a column of yes and no: "the damaged ones"; "" of another column."""
    return _one_of(column, _YES) if no_value(column) else ""


def no_value(column: Column) -> str:
    """The "no" of a column of yes and no: "not full time"; "" of another column."""
    return _one_of(column, _NO)


def _one_of(column: Column, words: frozenset[str]) -> str:
    """The value among ``words`` of a column of two values, however they are capitalised."""
    kinds = {value.casefold(): value for value in reversed(column.values)}
    matches = kinds.keys() & words
    is_flag = len(kinds) == 2 and len(column.values) == column.distinct  # all values are known
    return kinds[matches.pop()] if is_flag and len(matches) == 1 else ""


def _spellings(tokens: Sequence[str], words: Lexicon) -> set[Keys]:
    return {tuple(map(words.key, tokens)), tuple(map(fold, tokens))}


def _add_column(material: Material, column: Column, name: str, words: Lexicon) -> None:
    tokens = name_tokens(name)
    compound = _spellings(["".join(tokens)], words) if "".join(tokens).isalpha() else set()
    as_written = [one.text for one in text_tokens(normal(name)) if one.kind != "mark"]
    forms = _spellings(tokens, words) | _spellings(as_written, words) | compound
    for keys in filter(None, forms):
        entries = material.columns.setdefault(keys, [])
        if column.name not in entries:
            entries.append(column.name)
        material.longest = max(material.longest, len(keys))
        for key in keys if len(keys) > 1 else ():
            among = material.parts.setdefault(key, [])
            if len(key) > 2 and column.name not in among:
                among.append(column.name)
    for word in tokens:
        if len(word) > 4:
            material.spellings.setdefault(fold(word), word)


def _add_value(material: Material, column: Column, value: str, words: Lexicon) -> None:
    tokens = name_tokens(value)
    if not tokens or len(tokens) > _VALUE_WORDS:
        return
    for keys in _spellings(tokens, words):
        material.value_words.update(keys)
        entries = material.values.setdefault(keys, [])
        if (column.name, value) not in entries:
            entries.append((column.name, value))
        material.longest = max(material.longest, len(keys))
    if len(tokens) > 1 and column.role is Role.CATEGORY:
        repeats = 2 * column.distinct <= material.table.rows  # and is no title of its own
        for keys in _parts(tokens, words, alone=repeats):
            material.value_parts.setdefault(keys, []).append((column.name, value))
    if len(tokens) == 1 and len(tokens[0]) > 4:
        material.spellings.setdefault(fold(tokens[0]), tokens[0])


def _parts(tokens: Sequence[str], words: Lexicon, *, alone: bool) -> set[Keys]:
    """The parts of a value by which it may be called: several words, or a word of four letters
    ``alone``."""
    spans = [
        tokens[start:end]
        for start in range(len(tokens)) for end in range(start + 1, len(tokens) + 1)
        if end - start < len(tokens)
    ]  # fmt: skip
    distinctive = [
        span for span in spans
        if len(span) > 1 or (alone and len(span[0]) > 3 and span[0].isalpha())
    ]  # fmt: skip
    return {keys for span in distinctive for keys in _spellings(span, words)}


_MOST_SPARE = dt.timedelta(days=7)


@dataclass(frozen=True)
class Calendar:
    """From when to when a column of dates reaches."""

    column: str
    first: dt.date
    last: dt.date
    today: dt.date
    spare: dt.timedelta = dt.timedelta(days=4)
    """How much a whole period may lack at its edge: where something happens each week only, a year
    that begins on the sixth of January lacks nothing."""
    gap: dt.timedelta = dt.timedelta()
    """How far two days with rows are apart on the average."""

    def covers(self, first: dt.date, last: dt.date, spare: dt.timedelta | None = None) -> bool:
        """Whether the data has a span of days, of which ``spare`` may lack at the data's edges."""
        spare = self.spare if spare is None else spare
        return self.first - spare <= first and last <= self.last + spare


def calendar_of(column: Column, today: str) -> Calendar | None:
    """The calendar of a column of dates; None where it holds none."""
    first, last = dates.parse(column.first), dates.parse(column.last)
    now = dates.parse(today) or last
    if first is None or last is None or now is None:
        return None
    last = dates.last_day(last, column.grain or Grain.DAY)
    gap = (last - first) / max(column.distinct, 1)
    spare = max(Calendar.spare, min(6 * gap / 5, _MOST_SPARE))
    return Calendar(column.name, first, last, now, spare, gap)


def _is_measured(column: Column) -> bool:
    """Whether a quantity is measured and not counted: cubic metres are no pieces with a price."""
    return column.unit is not None and not roles.counts_pieces(column)


def _is_negative(column: Column) -> bool:
    """Whether a column of numbers has one below zero."""
    return isinstance(column.first, float) and column.first < 0


def _is_called_date(column: Column) -> bool:
    return len(name_tokens(column.name)) == 1 and concept_of(column.name) == "date"
