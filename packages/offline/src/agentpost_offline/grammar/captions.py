"""The texts of what is made: a title, and the words on a picture with their place."""

import re
from typing import Final

import msgspec

from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.material import NO_TABLE
from agentpost_offline.grammar.tagging import END, Term
from agentpost_offline.grammar.text import fold
from agentpost_offline.grammar.vocabulary import lexicon

QUOTATION: Final = '["“„«「『]([^"”“»」』]{1,160})["”“»」』]'
QUOTED: Final = re.compile(rf"\s*[:：]?\s*(?:{QUOTATION}|'([^'\n]{{1,160}})'(?!\w))")
"""A text between quotation marks, and what may stand before it."""
_BARE: Final = re.compile(r"\s*(?:[:：]|to\b|as\b|auf\b|a\b|en\b|为|成)?\s*([^\"\n]{1,120})")


def take_title(clause: Clause, at: int) -> int:
    """As in "called “Our year”" and "title: Our year": up to the next demand."""
    term = clause.terms[at]
    if not term.has("title.title") or term.columns or _is_plural(clause, term):
        return 0
    quoted = QUOTED.match(clause.text, term.end)
    match = quoted or _BARE.match(clause.text[: clause.terms[-1].end], term.end)
    if match is None or not match[match.lastindex or 1].strip(" .!。"):
        return 0
    end = match.end()
    if not quoted:
        end = next(
            (
                one.start
                for place, one in enumerate(clause.terms[at:], at)
                if _goes_on(clause, place)
            ),
            clause.terms[-1].end,
        )
        for one in reversed(clause.terms[at + 2 :]):
            if one.end == end and one.has("small.polite", "edit.change"):
                end = one.start
                end -= len(clause.text[:end]) - len(clause.text[:end].rstrip())
        match = _BARE.match(clause.text[:end], term.end) or match
    title = match[match.lastindex or 1].strip(" .!。,")
    clause.draft.style = msgspec.structs.replace(clause.draft.style, title=title)
    return sum(term.start <= one.start < end for one in clause.terms)


def _is_plural(clause: Clause, term: Term) -> bool:
    """Whether a word only has the stem of one for a title: "calls" and "titles"."""
    words = tuple(map(fold, term.text.split()))
    is_exact = "title.title" in lexicon(clause.language).exact.get(words, ())
    return clause.language == "en" and words[-1].endswith("s") and not is_exact


def take_caption(clause: Clause, at: int) -> int:
    """The words to stand on a picture: "write “Hello” on it", "put “Hello” at the bottom"."""
    term = clause.terms[at]
    if term.kind == "mark" and _is_written_later(clause, at):  # "auf das Bild “Hallo” schreiben"
        quoted = QUOTED.match(clause.text, term.start)
    elif term.has("option.caption") or (term.has("small.verb") and clause.has_images):
        quoted = QUOTED.match(clause.text, term.end)
    else:
        return 0
    if quoted is None and term.has("option.caption") and "text" in clause.draft.options:
        return 1  # "“Open day” written at the bottom"
    if quoted is None and _speaks_of_text(clause, at):
        clause.draft.marks.add("of_text")
        clause.draft.look_words["of_text"] = term.text
        return 1
    if quoted is None:
        end = at + 1
        while end < len(clause.terms) and not _goes_on(clause, end):
            end += 1
        is_name = clause.language != "de" and at + 1 < end and (  # and no border, and no logo
            clause.terms[at + 1].text[:1].isupper()
        )  # fmt: skip
        is_placed = clause.material is NO_TABLE and any(
            one.has("place")
            or (is_name and one.has("small.in", "small.to") and _says_where(clause, place + 1))
            for place, one in enumerate(clause.terms[at + 2 : end], at + 2)
        )  # "put Summer fete at the bottom", "put Summer fete on it"
        is_caption = clause.has_images and (term.has("option.caption") or is_placed)
        return _bare_caption(clause, at) if is_caption else 0
    clause.draft.options["text"] = str(quoted[quoted.lastindex or 1]).strip()
    return sum(clause.terms[at].start <= one.start < quoted.end() for one in clause.terms)


def _speaks_of_text(clause: Clause, at: int) -> bool:
    """Whether a word for the text of a picture only has its looks beside it: "the text bigger and
    in white" writes nothing."""
    rest = [one for one in (*clause.terms[:at], *clause.terms[at + 1 :]) if not one.is_glue]
    return clause.terms[at].has("lettering.noun") and all(
        one.has(
            "colour", "place", "lettering", "option.resize", "small", "edit.change", "thing.image"
        ) for one in rest if one.kind != "mark"
    )  # fmt: skip


def _is_written_later(clause: Clause, at: int) -> bool:
    """Whether a quotation mark opens a text that a verb behind it puts on a picture."""
    opens = clause.terms[at].text in '"“„«「『' and "text" not in clause.draft.options
    return opens and clause.has_images and clause.material is NO_TABLE and any(
        one.has("option.caption", "small.verb") for one in clause.terms[at + 1 :]
    )  # fmt: skip


def _bare_caption(clause: Clause, at: int) -> int:
    """As in "write Hello on it": the words up to where on the picture they stand, or to the
    next demand."""
    first = end = at + 1
    while (one := clause.term(end)) is not END and not _goes_on(clause, end):
        is_place = any(_says_where(clause, place) for place in (end + 1, clause.skip(end + 1)))
        if one.has("place") or (
            one.has("small.in", "small.to") and not one.has("small.and") and is_place
        ):  # fmt: skip
            break
        end += 1
    if first == end:
        return 0
    last = end
    while last > first + 1 and clause.terms[last - 1].has("small.it", "small.in", "small.polite"):
        last -= 1
    text = clause.text[clause.terms[first].start : clause.terms[last - 1].end].strip(" .。,，':：")
    ending = clause.terms[last - 1]
    if ending.has("small") and not (
        ending.typo_of or ending.text.isupper()
    ):  # of the words or not: "write Be there now"
        clause.draft.unknown.append(ending.text)
    joints = [one for one in clause.terms[first:last] if one.has("small.and")]
    if joints and clause.file_count > 1 and any(one.has("them") for one in clause.terms[end:]):
        clause.draft.unknown.append(joints[0].text)  # "Before and After on them": one on each?
    clause.draft.options["text"] = text
    return end - at


def _says_where(clause: Clause, at: int) -> bool:
    """Whether a word behind "on" or "in" says where or how words stand: "on the tent" of
    ``tent.jpg``, "in white letters"."""
    term, after = clause.term(at), clause.term(at + 1)
    is_lettering = term.has("colour") and (
        after.kind == "mark"
        or after.has("lettering", "place", "small.in", "small.and", "small.it")
    )  # fmt: skip
    return is_lettering or fold(term.text) in clause.files or (
        term.has("small.it", "them", "thing.image", "place", "option", "lettering")
    )  # fmt: skip


def take_place(clause: Clause, at: int) -> int:
    """Where a caption stands: "at the bottom", as it does unasked, or "at the top"; that its
    letters are large, as they are; of one that stands there, that they shall be larger."""
    term, draft = clause.terms[at], clause.draft
    if not (clause.has_images and term.has("place", "lettering")):
        return 0
    has_picture = any(one.has("thing.image") for one in clause.terms)
    if term.has("option.resize") and has_picture and "text" not in draft.options:
        return 0  # "the picture bigger and the text red"
    has_caption = "text" in draft.options or any(one.has("option.caption") for one in clause.terms)
    is_look = (
        clause.material is NO_TABLE
        and all(one.is_glue or one.has("place", "lettering", "colour") for one in clause.terms)
        and any(one.has("place", "colour") for one in clause.terms)
    )  # "bigger" may be the picture
    if not (has_caption or is_look):
        return 0
    if term.has("place.top", "place.bottom"):
        draft.options["top"] = term.has("place.top")
        draft.look_words["top"] = term.text
    if (size := term.key("lettering")) in ("larger", "smaller"):
        draft.options["lettering"] = size
        draft.look_words["lettering"] = term.text
    return 1


def _goes_on(clause: Clause, at: int) -> bool:
    """Whether an "and" at a place begins a demand of its own: "… and make it green"."""
    after = clause.term(at + 1)
    term = clause.terms[at]
    joins = term.has("small.and", "edit.about") or term.text in ",;，；"
    if not joins:
        return False
    if after.has("small.in", "small.as") and (look := clause.term(at + 2)) is not END:
        return look.kind == "hex" or look.has("colour", "format")  # "… and in orange"
    return after.has("small.verb", "edit", "format", "colour")
