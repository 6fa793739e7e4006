"""The text of a message: its tokens, its numbers, and the material pasted into it."""

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

WISH_CHARACTERS: Final = 1_500
"""As much of a message as is read as a request; material that it brings along is kept whole."""

HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
_TOKEN: Final = re.compile(
    rf"(?P<file>[\w-][\w.-]{{0,80}}\.(?:csv|tsv|tab|xlsx?|xlsm|ods|md|txt|pdf|docx?|html?|jsonl?"
    rf"|pptx|png|jpe?g|webp|avif|gif|bmp|tiff?|zip)\b)"
    rf"|(?P<date>\b\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b)"
    rf"|(?P<hex>#[0-9a-fA-F]{{6}}\b)"
    rf"|(?P<size>\b\d{{1,7}} ?[x×*:] ?\d{{1,7}}\b"
    r"|\b\d{2,5} (?:by|mal|auf|sur|por) \d{2,5}\b)"
    rf"|(?P<part>\b[qQtThH][1-4]\b)"
    rf"|(?P<number>\d+(?:[.,'\u00a0\u202f]\d+)*)"
    rf"|(?P<han>[{HAN}])"
    rf"|(?P<word>[^\W\d_{HAN}]+)"
    rf"|(?P<mark><=|>=|[^\w\s])",
)
_INSIDE: Final = re.compile(r"[^\W\d_](?:-(?=[^\W\d_])|'(?=[^\W_]))")
_ARABIC_MARKS: Final = re.compile("[\u064b-\u0652\u0640\u0670]")
_ARABIC_FORMS: Final = str.maketrans("أإآٱىةؤئ", "اااايهوي")
COMMAS: Final = ",،，、"
_LARGEST: Final = 1e100
_HEAD_WORDS: Final = 30
_BODY_WORDS: Final = 25
_BODY_HAN: Final = 40


_WORDS_KEPT: Final = 16_384
"""The values of a table are asked for with every message about it."""


class Token(NamedTuple):
    """A word, number, mark or Han character, with its place in the text."""

    text: str
    kind: str
    start: int
    end: int


def normal(text: str) -> str:
    """One form for what is written in several: width, quotes, dots, digits, Arabic letters."""
    text = unicodedata.normalize("NFKC", text)
    text = text.translate({0x2019: "'", 0x2018: "'", 0x2BC: "'"})
    text = re.sub(r"\.{2,}", "…", _ARABIC_MARKS.sub("", text))
    return "".join(
        str(unicodedata.digit(char)) if char.isdigit() and not char.isascii() else char
        for char in text
    )


@lru_cache(_WORDS_KEPT)
def fold(word: str) -> str:
    """Lower case, without accents."""
    word = word.casefold().translate(_ARABIC_FORMS)
    parts = unicodedata.normalize("NFD", word)
    return "".join(char for char in parts if not unicodedata.combining(char))


def common_start(word: str, other: str) -> int:
    """With how many equal letters two words begin."""
    same = 0
    while same < min(len(word), len(other)) and word[same] == other[same]:
        same += 1
    return same


def is_kin(word: str, other: str, root: int, ending: int) -> bool:
    """Whether two folded words begin with the same ``root`` letters at least, and differ by endings
    of ``ending`` letters at most."""
    same = common_start(word, other)
    return same >= root and max(len(word), len(other)) - same <= ending


def is_inflection(word: str, other: str) -> bool:
    """Whether two folded words differ by endings of at most two letters, as a plural does:
    "pagos" is no form of "pagado" though both have one stem."""
    return is_kin(word, other, 0, 2)


def tokens(text: str) -> list[Token]:
    """The tokens of a text that is already `normal`; a hyphen or apostrophe inside a word parts it
    and is none."""
    return [
        Token(match[0], match.lastgroup or "mark", match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if not (match[0] in "-'" and _INSIDE.match(text, max(0, match.start() - 1)))
    ]


@lru_cache(_WORDS_KEPT)
def name_tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of a name or value, ``unit_price`` as two."""
    with_spaces = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", normal(text))
    words = tokens(with_spaces)
    return tuple(one.text for one in words if one.kind != "mark" or one.text in "%&")


def number(text: str, decimal: str) -> float | None:
    """A number as people write it; a mark before three digits is read as the language has it.
    None for a number that is too large to compute with."""
    bare = re.sub("['\u00a0\u202f]", "", text)
    marks = [char for char in bare if char in ".,"]
    if not marks:
        value = float(bare)
    else:
        last = marks[-1]
        whole, _, fraction = bare.rpartition(last)
        both = len(set(marks)) == 2
        if marks.count(last) > 1 or (len(fraction) == 3 and last != decimal and not both):
            value = float(re.sub("[.,]", "", bare))
        else:
            value = float(f"{re.sub('[.,]', '', whole)}.{fraction}")
    return value if value <= _LARGEST else None


def wish_and_material(text: str) -> tuple[str, str]:
    """What a message asks for, and the text or table pasted into it, whose words are data."""
    for mark in ("\n", ":", "："):
        head, results, body = text.partition(mark)
        if results and len(head.split()) <= _HEAD_WORDS and _is_material(body):
            return head.strip()[:WISH_CHARACTERS], body.strip(" \n")
    parts = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    tables = [part for part in parts if _is_table(part)]
    if len(tables) == 1 and len(parts) > 1:
        rest = "\n".join(part for part in parts if part is not tables[0])
        if len(rest.split()) <= _HEAD_WORDS:
            return rest, tables[0]
    lines = text.split("\n")
    for start in range(min(len(lines), 22)):
        if _is_table("\n".join(lines[start:])):
            return "\n".join(lines[:start])[:WISH_CHARACTERS], "\n".join(lines[start:])
    return text.strip()[:WISH_CHARACTERS], ""


def _is_material(body: str) -> bool:
    han = len(re.findall("[\u4e00-\u9fff]", body))
    return len(body.split()) >= _BODY_WORDS or han >= _BODY_HAN or _is_table(body)


def _is_table(body: str) -> bool:
    lines = [line for line in body.strip().splitlines() if line.strip()][:50]
    if len(lines) < 3:
        return False
    for mark in ("\t", "|", ";", ","):
        counts = [line.count(mark) for line in lines]
        if min(counts) >= 1 and max(counts) - min(counts) <= (2 if mark == "|" else 0):
            return True
    return False
