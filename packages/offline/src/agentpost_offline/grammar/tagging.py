"""Terms: the words of a request with everything that they can mean.

The longest phrase wins, whether it stands in the table of words or names a column or a value. A
word that is known nowhere is compared with those that are, so that a typo is understood.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentpost_offline.data import words as words_of_tables
from agentpost_offline.grammar.material import (
    NO_TABLE,
    Keys,
    Material,
    numbers_a_figure,
    value_meant,
    yes_value,
)
from agentpost_offline.grammar.text import (
    Token,
    fold,
    is_inflection,
    is_kin,
    name_tokens,
    number,
    tokens,
)
from agentpost_offline.grammar.vocabulary import (
    Lexicon,
    carry_of,
    english_things,
    lexicon,
    things_called,
    without_brackets,
)

_WHOLE = ("file", "date", "hex", "size")
_TINY = 3
"""Values and columns up to this length are found only in their own capitals: "IT" is no "it"."""
_WORD = 40
"""Letters among which the word before another one begins."""
_ROOT = 6
"""Letters that two words of one root share."""
_ENDING = 4
_COMPOUND_ENDS = ("thing", "concept", "grain", "kind", "aggregate")


@lru_cache(2048)
def _with_sections(meanings: frozenset[str]) -> frozenset[str]:
    """The meanings and their sections. A long message asks a million times."""
    return meanings | {one.partition(".")[0] for one in meanings}


@dataclass(slots=True)
class Term:
    """A phrase of a request."""

    text: str
    kind: str
    start: int
    end: int
    meanings: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    """Columns that it names; several when the words fit several."""
    is_literal: bool = False
    """Whether a column's whole name was written, not a part of it or another word for it."""
    values: tuple[tuple[str, str], ...] = ()
    number: float | None = None
    typo_of: str = ""
    is_other_name: bool = False
    """Whether it is read as a column that another word names."""

    def has(self, *meanings: str) -> bool:
        """Whether it can mean one of these: ``section.key``, or all of a section: ``section``."""
        return not _with_sections(self.meanings).isdisjoint(meanings)

    def key(self, section: str) -> str | None:
        """The key that it stands for in a section."""
        keys = [one.partition(".")[2] for one in self.meanings if one.startswith(f"{section}.")]
        return min(keys) if keys else None

    @property
    def is_glue(self) -> bool:
        """Whether a sentence may have it anywhere without another meaning."""
        return (self.kind == "mark" and not self.meanings) or self.has("small.glue", "small.of")


END: Final = Term("\n", "mark", 0, 0, frozenset(("end",)))
"""What stands before the first term of a clause and behind its last: no word, and no glue."""


def terms(text: str, language: str, material: Material | None = None) -> list[Term]:
    """The terms of a request, whose text is `normal`."""
    tagger = _Tagger(text, language, material)
    results: list[Term] = []
    at = 0
    while at < len(tagger.tokens):
        matches, size = tagger.longest(at)
        results += matches
        at += size
    return _joined_han(results)


def _joined_han(phrases: list[Term]) -> list[Term]:
    """The terms, where a single Han character beside an unknown run belongs to its word: the
    letter in the name of a messenger is no letter."""
    results: list[Term] = []
    for term in phrases:
        last = results[-1] if results else None
        touches = last is not None and last.end == term.start
        if last is not None and touches and _is_han_word(last, term):
            text = last.text + term.text
            results[-1] = Term(text, "word", last.start, term.end)
        else:
            results.append(term)
    return results


def _is_han_word(one: Term, other: Term) -> bool:
    unknown = [not (term.meanings or term.columns or term.values) for term in (one, other)]
    is_han = all("\u3400" <= term.text[0] <= "\u9fff" for term in (one, other))
    single = other if unknown[0] else one
    return is_han and sum(unknown) == 1 and len(single.text) == 1 and single.has("model", "option")


class _Tagger:
    def __init__(self, text: str, language: str, material: Material | None) -> None:
        self.text, self.material = text, material or NO_TABLE
        self.words: Lexicon = lexicon(language)
        self.tokens = tokens(text)

    def longest(self, at: int) -> tuple[list[Term], int]:
        """The longest phrase at a place, and how many tokens it has."""
        first = self.tokens[at]
        if first.kind in _WHOLE:
            return [_plain(first)], 1
        limit = max(self.words.longest, self.material.longest + 1)
        for size in range(min(limit, len(self.tokens) - at), 0, -1):
            span = self.tokens[at : at + size]
            if any(token.kind in _WHOLE for token in span):
                continue
            term = self._term(span)
            if term is not None:
                return [term], size
        return self._unknown(at)

    def _term(self, span: Sequence[Token]) -> Term | None:
        if len(span) > 1 and "mark" in (span[0].kind, span[-1].kind) and span[0].text not in "'<>":
            return None
        for at, keys in enumerate(self._spellings(span)):
            term = self._meaning(span, keys)
            if term is not None:
                if at:
                    term.meanings |= self.words.pronoun(span[0].text)
                return term
        return None

    def _spellings(self, span: Sequence[Token]) -> Iterator[Keys]:
        rest = tuple(self.words.key(token.text) for token in span[1:])
        for key in self.words.keys(span[0].text):
            yield (key, *rest)

    def _meaning(self, span: Sequence[Token], keys: Keys) -> Term | None:
        start, end = span[0].start, span[-1].end
        forms = tuple(fold(token.text) for token in span)
        meanings = self.words.exact.get(forms) or self.words.phrases.get(keys, ())
        if forms not in self.words.exact and forms[0].endswith("ly"):  # "mostly" ranks nothing
            meanings = tuple(one for one in meanings if not one.startswith("extreme."))
        if len(span) == 1 and forms not in self.words.exact and not self.words.inflects(forms[0]):
            meanings = tuple(one for one in meanings if not one.startswith(("thing.", "kind.")))
        if self.text[start:end].casefold() == "ça":  # no "CA"
            return Term(self.text[start:end], "word", start, end, frozenset(("small.it",)))
        if not self.words.exact.get(forms) and self.words.language != "ar":
            meanings = tuple(one for one in meanings if not _is_small(one))
        if len(span) > 1 and meanings and (self._holds_column(span) or self._begins_rank(span)):
            meanings = ()
        if not meanings and self.words.language != "en" and span[0].text.isascii():
            english = lexicon("en")
            meanings = tuple(
                one for one in english.phrases.get(tuple(english.key(t.text) for t in span), ())
                if one.partition(".")[0] in ("thing", "kind", "format", "talk", "control")
            )  # fmt: skip
        if forms not in self.words.exact and keys in self.material.columns:
            meanings = tuple(one for one in meanings if one != "small.verb")  # "by building"
        columns, is_literal, values = self._names(self.text[start:end], span, keys, meanings)
        counts = len(span) > 2 and "ask.many" in self.words.exact.get(forms[:-1], ())
        if counts and set(columns) & {one.name for one in self.material.groups}:
            return None  # "number of orders" counts them
        is_inflected = len(span) == 1 and forms not in self.words.exact and all(
            one.startswith(("concept.", "idle.", "model.")) or one == "kind.grouped"
            for one in meanings
        )  # fmt: skip
        is_inflected = is_inflected or (  # "minutes" of a column "mins" are not written
            len(span) == 1 and "model.model" in meanings
            and all(one.startswith(("model.", "unit.")) for one in meanings)
        )  # fmt: skip
        if is_inflected and meanings and not (columns or values) and (
            (name := self._translate(span[0])) is not None
        ):  # fmt: skip
            term = self._other_name(span[0], name)
            term.meanings = frozenset(meanings)
            return term
        is_owed = not (columns or values) and self.material.owed
        meanings = tuple(
            one for one in meanings
            if not one.startswith("value.") or (is_owed and one == "value.unpaid")
        )  # fmt: skip
        is_concept = len(span) > 1 and all(one.startswith("concept.") for one in meanings)
        if not (columns or values) and (
            not meanings or (is_concept and self.material is not NO_TABLE)
        ):
            return None  # "total value" of a column "Value"
        kind = span[0].kind if len(span) == 1 else "word"
        figure = number(span[0].text, self.words.decimal) if kind == "number" else None
        return Term(
            self.text[start:end], kind, start, end, frozenset(meanings), columns, is_literal,
            values, figure,
        )  # fmt: skip

    def _begins_rank(self, span: Sequence[Token]) -> bool:
        """Whether a phrase that is written otherwise in the table begins with a word that ranks:
        "mejores en" is no "mejor en"."""
        first = self.words.meanings_of(span[0].text)
        forms = tuple(fold(token.text) for token in span)
        return forms not in self.words.exact and any(one.startswith("extreme.") for one in first)

    def _holds_column(self, span: Sequence[Token]) -> bool:
        """Whether a phrase that is written otherwise in the table has the name of a column in it:
        "orders by" is no "order by" where there are orders, and "amount of" no "number of" where
        there are amounts."""
        forms = tuple(fold(token.text) for token in span)
        columns = self.material.columns
        exact = self.words.exact.get(forms, ())
        is_exact = bool(exact) and not {"ask.many", "ask.why"} & {*exact}
        return not is_exact and any(
            ((word,) in columns or (self.words.key(word),) in columns)
            and not any(one.startswith("ask.") for one in self.words.meanings_of(word))
            for word in forms
        )  # "how many", where a column is called "How"

    def _names(
        self, spelling: str, span: Sequence[Token], keys: Keys, meanings: Sequence[str]
    ) -> tuple[tuple[str, ...], bool, tuple[tuple[str, str], ...]]:
        """The columns that a phrase names, whether by their whole name, and the values."""
        material = self.material
        if material is NO_TABLE:
            return (), False, ()
        plain = tuple(fold(token.text) for token in span if token.kind != "mark" or len(span) < 2)
        is_small = any(
            one.startswith("small.") or (one.startswith("not.") and len(spelling) <= _TINY)
            for one in meanings
        )
        columns = material.columns.get(keys) or material.columns.get(plain) or []
        if span[0].start == 0 and any(one.startswith("ask.") for one in meanings):
            columns = []  # "what did we spend", where a column is called so
        columns = columns or self._without_of(span)
        is_named = is_small and self._follows(span, "by.per")
        if is_small and not is_named:
            columns = [one for one in columns if _is_written(spelling, one)]
        elif any(one.startswith("not.") for one in meanings):
            columns = [one for one in columns if fold(one) == fold(spelling)]
        is_literal = bool(columns)
        same = [one for one in columns if fold(one) == fold(spelling)]
        columns = same or columns  # "cooked" beside "cook"
        if columns and len(plain) == 1:
            columns = self._spelt_alike(plain[0], columns)
        columns = columns or self._columns_meant(plain, keys, meanings)
        is_whole = any(fold(name) == fold(spelling) for name in columns)
        values = material.values.get(plain) or [
            one for one in material.values.get(keys, ())
            if self.words.language == "ar" or (_inflects(span, one[1]) and not is_whole)
        ]  # fmt: skip
        by_meaning = [
            pair for meaning in meanings
            if meaning.startswith("value.") and not (values or is_whole)
            for pair in value_meant(material, meaning.removeprefix("value."))
        ]  # fmt: skip
        is_name = span[0].start > 0 and spelling[:1].isupper() and not is_small
        if not (values or by_meaning or columns) and (not meanings or is_name):
            parts = material.value_parts.get(plain) or material.value_parts.get(keys) or []
            if len(plain) == 1:  # "soirée" is no "soir"
                parts = [one for one in parts if any(
                    is_kin(plain[0], fold(word), 3, 1) for word in name_tokens(one[1])
                )]  # fmt: skip
            exact = [one for one in parts if set(plain) <= set(map(fold, name_tokens(one[1])))]
            values = exact if len(exact) == 1 else parts if len(parts) == 1 else []
        has_other = any(one.startswith(("period.", "extreme.", "edit.")) for one in meanings)
        if has_other and spelling.islower():  # "last" is no team called Last
            values = [one for one in values if one[1].islower()]
        is_value = is_small and len(spelling) > _TINY and self._follows(
            span, "small.purpose", "small.of"
        )  # fmt: skip
        is_value = is_value or (is_small and any(
            spelling.casefold() == value.casefold() and (
                self._follows_name(span, column) or fold(spelling) != spelling.casefold()
            ) for column, value in values
        ))  # fmt: skip  # "crew a", "té"
        is_last = not self.text[span[-1].end :].strip(" .?!。？！؟")  # "how many are out?"
        by_name = tuple(
            (column, value) for column, value in values
            if is_value or (_is_written(spelling, value) and (
                not is_small or is_last or len(value) > _TINY or spelling != spelling.casefold()
            ))
            or not (is_small or (len(value) <= _TINY and meanings))
        )  # fmt: skip
        return tuple(columns), is_literal, (*by_name, *by_meaning)

    def _without_of(self, span: Sequence[Token]) -> list[str]:
        """The columns that a phrase names but for its "of": "precio de compra" is the column
        "Precio compra"."""
        words = [token for token in span if "small.of" not in self.words.meanings_of(token.text)]
        if len(words) == len(span) or not 1 < len(words) < len(span):
            return []
        return self.material.columns.get(tuple(self.words.key(one.text) for one in words), [])

    def _follows(self, span: Sequence[Token], *meanings: str) -> bool:
        """Whether a word of one of the meanings stands before: the "show" of "for every show" is a
        column, and the "will" of "tips for will" a name."""
        start = span[0].start
        before = self.text[max(0, start - _WORD) : start].split()[-1:]
        return bool(before) and not set(meanings).isdisjoint(self.words.meanings_of(before[0]))

    def _follows_name(self, span: Sequence[Token], column: str) -> bool:
        """Whether the name of a column stands before: the "a" of "crew a" is one of its values."""
        start = span[0].start
        before = fold(self.text[max(0, start - _WORD) : start].strip())
        return before.endswith(fold(column))

    def _columns_meant(self, plain: Keys, keys: Keys, meanings: Sequence[str]) -> list[str]:
        """The columns that a phrase means where none is called so: by what it is about, by what a
        verb says, by a part of their names."""
        material = self.material
        parts = (material.parts.get(key) for key in (keys[0], plain[0])) if len(keys) == 1 else ()
        columns = [
            name
            for name in next(filter(None, parts), [])
            if meanings and numbers_a_figure(material.column(name))
        ]  # "sales" are the rows of "Sale no"
        if not columns and "concept.person" in meanings:  # "people" who buy, or who sell
            both = [material.concepts.get(one, []) for one in ("person", "customer")]
            columns = [*both[0], *both[1]] if all(both) else []
        for meaning in meanings:
            if not columns and meaning.startswith("concept."):
                columns = material.concepts.get(meaning.removeprefix("concept."), [])
        if not columns and "concept.revenue" in meanings:
            columns = [one for one in material.takings if carry_of(one) != "spent"]
        if not columns and "concept.cost" in meanings:
            columns = material.spendings
        if not columns and len(plain) == 1 and any(one.startswith("carry.") for one in meanings):
            columns = [
                one.name
                for one in material.table.columns
                if yes_value(one) and is_inflection(plain[0], fold(one.name))
            ]  # "vendus" of "Vendu"
        only_names = all(one.startswith(("concept.", "carry.", "derived.")) for one in meanings)
        if not columns and len(keys) == 1 and only_names:
            columns = material.parts.get(keys[0]) or material.parts.get(plain[0]) or []
            columns = [one for one in columns if not self._only_describes(keys[0], one)]
            if not columns and len(plain[0]) >= _ROOT and meanings:
                columns = [
                    one.name for one in material.table.columns
                    if any(_is_part_or_kin(plain[0], fold(word)) for word in name_tokens(one.name))
                ]  # fmt: skip
        return columns

    def _only_describes(self, key: str, name: str) -> bool:
        """Whether a word only says which person a column names: the "Night manager" is no night."""
        *first, last = name_tokens(without_brackets(name))
        is_person = words_of_tables.names(last, "person")
        return self.words.language == "en" and is_person and (
            key in map(self.words.key, first) and key != self.words.key(last)
        )  # fmt: skip

    def _spelt_alike(self, typed: str, columns: list[str]) -> list[str]:
        """The columns that a word's stem names, unless a word of another one's name is spelt alike:
        "ruches" are of "N° ruche" and not of "Rucher"."""
        forms = {typed, typed.removesuffix("s")}

        def has_word(name: str) -> bool:
            return not forms.isdisjoint(map(fold, name_tokens(name)))

        if any(map(has_word, columns)):
            return columns
        others = self.material.parts.get(self.words.key(typed), [])
        return list(filter(has_word, others)) or columns

    def _unknown(self, at: int) -> tuple[list[Term], int]:
        first = self.tokens[at]
        if first.kind == "number":
            term = _plain(first)
            term.number = number(first.text, self.words.decimal)
            return [term], 1
        if first.kind == "han":
            return self._unknown_han(at)
        if first.kind != "word":
            return [_plain(first)], 1
        if (name := self._translate(first)) is not None:
            return [self._other_name(first, name)], 1
        if self.words.language == "de" and (parts := self._compound(first)):
            return parts, 1
        correction = self._correct(first.text)
        if correction is None:
            return [_plain(first)], 1
        spelt = [Token(correction, "word", first.start, first.end)]
        for keys in self._spellings(spelt):
            if (known_term := self._meaning(spelt, keys)) is not None:
                known_term.typo_of = correction
                return [known_term], 1
        return [_plain(first)], 1

    def _unknown_han(self, at: int) -> tuple[list[Term], int]:
        """A run of Han characters up to the next phrase that is known."""
        limit = max(self.words.longest, self.material.longest)
        end = at + 1
        while end < len(self.tokens) and self.tokens[end].kind == "han":
            sizes = range(min(limit, len(self.tokens) - end), 0, -1)
            if any(self._term(self.tokens[end : end + size]) for size in sizes):
                break
            end += 1
        start, stop = self.tokens[at].start, self.tokens[end - 1].end
        term = Term(self.text[start:stop], "word", start, stop)
        names = [one.name for one in self.material.groups if one.name.startswith(term.text)]
        if len(names) == 1:  # "组" of "组别"
            term.columns, term.typo_of, term.is_other_name = (names[0],), names[0], True
        return [term], end - at

    def _compound(self, token: Token) -> list[Term]:
        """As in "Umsatzdiagramm": two terms, where both parts are known."""
        word = token.text
        for cut in range(len(word) - 3, 2, -1):
            tail = [Token(word[cut:], "word", token.start + cut, token.end)]
            end = self._meaning(tail, (self.words.key(word[cut:]),))
            if end is None or not (end.columns or end.has(*_COMPOUND_ENDS)):
                continue
            for link in ("", "s", "es", "n", "en"):
                bare = word[: cut - len(link)]
                if len(bare) < 3 or not word[:cut].endswith(link):
                    continue
                head = [Token(bare, "word", token.start, token.start + cut)]
                begin = self._meaning(head, (self.words.key(bare),))
                if begin is not None and not (begin.is_glue or begin.has("language")):
                    is_kind = bool(begin.columns) and end.has("concept.category")  # "Holzart"
                    return [begin] if is_kind else [begin, end]
        return []

    @staticmethod
    def _other_name(token: Token, column: str) -> Term:
        """A word that is read as the name of a column, which is told as a typo is."""
        term = _plain(token)
        term.columns, term.typo_of, term.is_other_name = (column,), column, True
        return term

    def _translate(self, token: Token) -> str | None:
        """The one column that has another name of the same thing, in any language: "Grund" for a
        "reason"; None where none has, or several have, and for the name of a person."""
        word = token.text
        if self.words.language != "de" and token.start > 0 and word[:1].isupper():
            return None
        things = things_called(word)
        columns = self.material.table.columns if things else ()
        names = [
            one.name for one in columns
            if any(things & things_called(part) for part in name_tokens(one.name))
            and not self._only_describes(self.words.key(word), one.name)
        ]  # fmt: skip
        return names[0] if len(names) == 1 else None

    def _correct(self, word: str) -> str | None:
        """The one known word that is one letter away; None where none is, or several are, and for a
        word that names a thing: a "match" is no March."""
        if len(word) < 4 or not word.isalpha() or things_called(word):
            return None
        from rapidfuzz.distance import OSA

        typed = fold(word)
        english = {} if self.words.language == "en" else english_things()
        material = self.material.spellings
        for names in (material, self.words.spellings, english):
            if names is self.words.spellings and (name := self._expand(typed)):
                return name
            near = {
                self.words.key(original): original
                for spelt, original in names.items()
                if spelt[0] == typed[0]
                and not self._is_of_models(original)
                and (
                    OSA.distance(typed, spelt, score_cutoff=1) <= 1
                    or (
                        names is material
                        and len(typed) > _LONG
                        and OSA.distance(typed.removesuffix("s"), spelt, score_cutoff=1) <= 1
                    )
                )
                and len(spelt) > 4
                and (len(typed) > 4 or (len(spelt) > len(typed) and self._is_thing(original)))
            }
            if len(near) == 1:
                return next(iter(near.values()))
            if near:
                return None
        return None

    def _is_of_models(self, word: str) -> bool:
        """Whether only a model can do what a word asks for: a foyer is no flyer."""
        meanings = self.words.phrases.get((self.words.key(word),), ())
        return bool(meanings) and all(one.startswith("model.") for one in meanings)

    def _is_thing(self, word: str) -> bool:
        """Whether a word names a thing or a column: a word of four letters is mended to no other,
        for "back" is not black."""
        meanings = self.words.phrases.get((self.words.key(word),), ("concept.",))
        return any(one.startswith(("thing.", "kind.", "concept.")) for one in meanings)

    def _expand(self, typed: str) -> str | None:
        """The one name or value of the table that begins so: "prio" of a priority."""
        names = self.material.spellings if len(typed) > 3 else {}
        if len(typed) > 4:
            typed = typed.removesuffix("s")  # "mates"
        near = {original for spelt, original in names.items() if spelt.startswith(typed)}
        if len(typed) == _SHORT:  # "back" begins many values
            parts = {key for keys in self.material.columns for key in keys}
            near = {one for one in near if self.words.key(one) in parts}
        return near.pop() if len(near) == 1 else None


def _is_small(meaning: str) -> bool:
    """Whether only a word itself has a meaning, none of its forms: "sobras" (leftovers) is no
    "sobre", "ours" is no "our", and "nach Monat" no "nächsten Monat"."""
    if meaning == "model.future":
        return True
    return meaning.startswith("small.") and meaning not in ("small.verb", "small.source")


def _is_part_or_kin(typed: str, name: str) -> bool:
    """Whether a word ends a compound ("Schüler" of "Fahrschüler"), but for one that says the
    opposite, or has the root of a name: "production" of "produced"."""
    head = name.removesuffix(typed)
    is_tail = head != name and head not in _OPPOSITES
    return is_tail or is_kin(typed, name, _ROOT, _ENDING)


_LONG = 5
"""A longer word that is written wrong may be a plural: "rabits"."""
_SHORT = 4
"""Letters of a word that may begin a name, and too many values."""
_OPPOSITES = frozenset(("un", "in", "im", "ir", "dis", "non", "nicht", "des", "sub"))


def _inflects(span: Sequence[Token], value: str) -> bool:
    """Whether words are those of a value but for their endings."""
    forms = [fold(token.text) for token in span if token.kind != "mark"]
    value_forms = [fold(word) for word in name_tokens(value) if word not in "%&"]
    return len(forms) != len(value_forms) or all(
        is_inflection(*pair) for pair in zip(forms, value_forms, strict=True)
    )


def _is_written(spelling: str, name: str) -> bool:
    """Whether a name stands there as the table writes it, capitals included."""
    return spelling == name or (
        spelling != spelling.casefold() and name_tokens(spelling) == name_tokens(name)
    )


def _plain(token: Token) -> Term:
    return Term(token.text, token.kind, token.start, token.end)
