"""How the database reads the text of a cell: expressions in SQL."""

import re
from collections.abc import Sequence, Set
from typing import Final

from agentpost_offline.data import cells, words
from agentpost_offline.data.cells import Format
from agentpost_offline.data.model import Kind

TYPES: Final = {Kind.NUMBER: "double", Kind.DATE: "timestamp", Kind.BOOLEAN: "boolean"}
"""The database's type of each kind; a text stays as it is."""

_ISO = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?"


def literals(texts: Sequence[str]) -> str:
    """Texts as a list of SQL literals."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def direct(field: str, kind: Kind) -> str:
    """The cell as a value of this kind, where the database reads it as we do."""
    cast = f"try_cast({field} as {TYPES[kind]})"
    return f"case when isfinite({cast}) then {cast} end" if kind is Kind.NUMBER else cast


def odd(field: str, form: Format) -> str:
    """The condition that the database would read a cell otherwise than the format does."""
    missing = cells.NO_VALUE | words.every("missing") | cells.NO_FIGURE
    word = f"not {_is_one_of(f'lower(trim({field}))', missing)}"
    if form.kind is Kind.DATE:
        return f"case when regexp_full_match({field}, '{_ISO}') then false else {word} end"
    if form.thousands == "." or form.unit:
        return f"{field} is not null"
    number = f"try_cast({field} as double)"
    code = f"regexp_full_match({field}, '\\s*0\\d+\\s*|\\s*\\d{{16,}}\\s*')"
    return f"case when isfinite({number}) then {code} else {word} end"


def clean_text(field: str, form: Format) -> str:
    """The cell as a text; null for a word that means no value."""
    missing_words = cells.NO_VALUE - {"na"} if form.codes else cells.NO_VALUE
    trim_sql = f"trim({field})"
    plain = f"regexp_replace({trim_sql}, '\\s+', ' ', 'g')" if form.spaced else trim_sql
    condition = f"length({field}) > 10 or not {_is_one_of(f'lower({trim_sql})', missing_words)}"
    return f"case when {condition} then {plain} end"


def _is_one_of(text: str, values: Set[str]) -> str:
    """The condition that a text is one of these. The database makes a join of a long "in", which
    holds megabytes; a table may have 500 columns."""
    return f"regexp_full_match({text}, {literals(['|'.join(map(re.escape, sorted(values)))])})"
