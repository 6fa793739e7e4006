"""What the agent offers: sentences over this conversation's files, each of which it understands."""

import re
from collections.abc import Sequence

from agentpost_offline import questions
from agentpost_offline.data import roles
from agentpost_offline.data.model import Role, Table
from agentpost_offline.frame import Thing
from agentpost_offline.grammar.draft import Draft
from agentpost_offline.grammar.reading import MOST_CHOICES, Choice, Reading
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.making import catalogue, queries
from agentpost_offline.replying import details, list_text, quote_words, say, shorten
from agentpost_offline.scope import Surroundings

_PDF = re.compile(r"\.pdf$", re.IGNORECASE)
"""A PDF is read, and not made another document of."""
_FORMS = frozenset(("pdf", "word", "docx", "powerpoint", "pptx", "html"))
_NEAREST = 3
_COLUMNS_SHOWN = 30
_MOST_GROUPS = 30
_FEW_GROUPS = 8


def table_sentences(table: Table, language: str) -> list[str]:
    """Sentences over the columns of a table, the most telling first."""
    main = queries.main_measure(table).column
    numbers = [one for one in table.columns if one.name == main]
    groups = [
        one for one in table.columns
        if one.role is Role.CATEGORY and 1 < one.distinct <= _MOST_GROUPS
    ]  # fmt: skip
    groups = [one for one in groups if one.distinct <= _FEW_GROUPS] or groups
    has_time = any(one.role is Role.TIME for one in table.columns)
    texts: list[str] = []
    if numbers:
        what = say(
            language,
            f"offers.{'total' if roles.is_additive(numbers[0]) else 'average'}",
            column=numbers[0].name,
        )
        if groups:
            texts.append(say(language, "offers.chart_by", what=what, group=groups[0].name))
        if has_time:
            texts.append(say(language, "offers.by_month", what=what))
        if groups:
            texts.append(say(language, "offers.best", what=what, group=groups[-1].name))
        texts.append(what)
    else:
        texts += [say(language, "offers.rows_by", group=one.name) for one in groups[:1]]
        texts.append(say(language, "offers.rows"))
    texts += [say(language, "offers.report"), say(language, "offers.deck")]
    return texts[:MOST_CHOICES]


def sentences(here: Surroundings, draft: Draft | None = None) -> list[Choice]:
    """Sure sentences over the files; the nearest ones to a draft where there is one."""
    language = here.language
    texts: list[str] = []
    if here.tables:
        texts += table_sentences(max(here.tables, key=lambda one: one.rows), language)
    elif here.material or any(not _PDF.search(one.name) for one in here.documents):
        texts += [say(language, f"offers.{key}") for key in ("document_pdf", "document_deck")]
    elif here.images:
        texts += [say(language, f"offers.{key}") for key in ("square", "half", "gray")]
    if draft is not None:
        words = set(draft.text.casefold().split())
        is_free, forms = _free_sentences(here, texts, draft), words & _FORMS
        own_words = {one: set(one.casefold().split()) for one in texts}
        texts.sort(key=lambda one: (
            one not in is_free, not forms & own_words[one], -len(words & own_words[one])
        ))  # fmt: skip
        texts = texts[:_NEAREST]
    return [Choice(one, text=one) for one in texts]


def _free_sentences(here: Surroundings, texts: Sequence[str], draft: Draft) -> set[str]:
    """Those that only answer, which come first where nothing is to be made: a click on one costs
    nothing."""
    if draft.things or draft.formats or draft.style.chart or not here.tables:
        return set()
    around = Surrounding(here.tables, frozenset(here.kinds), language=here.language)
    return {
        one for one in texts
        if all(each.frame and each.frame.thing is Thing.ANSWER for each in read(one, around))
    }  # fmt: skip


def offer(here: Surroundings) -> None:
    """Offer what can be done with the files, or say what files would help."""
    language = here.language
    if here.files and not here.usable:
        unusable(here)
        return
    choices = sentences(here)
    if not choices:
        here.turn.reply(help_text(language))
        return
    names = list_text(language, [shorten(file.name) for file in here.files] or
                   [say(language, "your_text")])  # fmt: skip
    footnote = details(language, (), here.skipped, ())
    text = say(language, "ask_what", files=names)
    questions.ask(here, "\n\n".join(filter(None, [text, footnote])), choices)


def unusable(here: Surroundings) -> None:
    """Say that none of the files can be read."""
    language = here.language
    names = list_text(language, [file.name for file in here.files])
    text = say(language, "unusable", files=names)
    here.turn.reply("\n\n".join(filter(None, [text, details(language, (), here.skipped, ())])))


def talk(here: Surroundings, about: str) -> None:
    """Answer what is no request."""
    language = here.language
    if about == "price":
        here.turn.reply(say(language, "prices", things=price_list(language)))
    elif about in ("thanks", "no"):
        here.turn.reply(say(language, "thanks" if about == "thanks" else "dropped"))
    elif about == "columns" and here.tables:
        here.turn.reply("\n".join(_describe(language, one) for one in here.tables[:8]))
    elif about in ("help", "hello", "columns", "yes") and sentences(here):
        offer(here)
    elif about == "hello":
        here.turn.reply(say(language, "hello", help=help_text(language)))
    else:
        here.turn.reply(help_text(language))


def _describe(language: str, table: Table) -> str:
    labels = [shorten(column.label, 60) for column in table.columns]
    more = [f"+{len(labels) - _COLUMNS_SHOWN}"] if len(labels) > _COLUMNS_SHOWN else []
    columns = list_text(language, [*labels[:_COLUMNS_SHOWN], *more])
    return say(language, "table_is", table=table.name, rows=table.rows, columns=columns)


def needs_model(here: Surroundings, reading: Reading) -> None:
    """Say that something needs a model, and offer what can be done."""
    language = here.language
    words = quote_words(language, [word for _, word in reading.draft.model], "and")
    sends = all(kind == "send" for kind, _ in reading.draft.model)
    text = say(language, "sends_nothing" if sends else "needs_model", words=words)
    choices = sentences(here, reading.draft)
    if choices:
        leave = Choice(say(language, "leave_it"))
        questions.ask(here, text, [*choices, leave], text=reading.draft.text)
    else:
        here.turn.reply(text)


def explain(here: Surroundings, words: Sequence[str]) -> None:
    """Say what was not understood where there is nothing to work from."""
    language = here.language
    text = say(language, "not_understood", words=quote_words(language, words, "and"))
    here.turn.reply(f"{text}\n\n{help_text(language)}")


def help_text(language: str) -> str:
    """What to do with this agent."""
    return say(language, "help", things=price_list(language))


def price_list(language: str) -> str:
    """What can be made, in which formats, at which price."""
    lines = []
    for maker in catalogue.MAKERS.values():
        extra = catalogue.missing_extra(maker)
        name = say(language, f"things.{maker.thing}")
        price = say(language, "free")
        if maker.credits:
            key = "credit" if maker.credits == 1 else "credits"
            price = say(language, key, count=f"{maker.credits:g}")
        line = say(language, "thing_line", name=name, formats=", ".join(maker.formats), price=price)
        lines.append(f'{line} (`pip install "agentpost[{extra}]"`)' if extra else line)
    return "\n".join(lines)
