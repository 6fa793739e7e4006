"""Questions about the files: an answer with its source, the closest passages, or what was not
understood — never one for another."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from agentpost.agents.base import JobFailed
from agentpost.agents.deaths import WorkerDied
from agentpost.agents.offline import answering, steps
from agentpost.agents.offline.answer import Answer, Outcome
from agentpost.agents.offline.answering import About
from agentpost.agents.offline.data.model import Table
from agentpost.agents.offline.frame import (
    Act,
    Aggregate,
    Frame,
    Order,
    Query,
    Thing,
    to_json,
)
from agentpost.agents.offline.offering import help_text
from agentpost.agents.offline.replying import details, listed, quoted, say, shortened
from agentpost.agents.offline.scope import Surroundings, files_by_id
from agentpost.agents.offline.understanding.reading import Reading
from agentpost.extraction import Unreadable

logger = logging.getLogger(__name__)

_COLUMNS_SHOWN = 30
_TABLES_SHOWN = 8


async def ask(here: Surroundings, reading: Reading) -> None:
    """Answer a question, from tables when it is about them, else from documents."""
    turn, language = here.turn, here.language
    frame = reading.frame
    if not here.files and not here.material:
        notes = f" ({'; '.join(turn.notes)})" if turn.notes else ""
        if reading.intent.question or turn.notes:
            answering.keep(here, About.FILE, reading)
            turn.ask(say(language, "need_files") + notes)
        else:
            turn.reply(_unknown(here, reading))
        return
    frame = reading.frame = _of_those(here, reading)
    computed = _computed(frame)
    if computed and not frame.unused:
        if reading.ambiguous or reading.tables:
            which(here, reading)
            return
        await from_tables(here, reading)
        return
    readable = here.documents or (here.material and not here.tables)
    if readable:
        await _from_documents(here, reading)
    elif here.tables and any(query.filters for query in frame.queries) and not computed:
        language, table = here.language, _table(here, frame.queries)
        understood = say(language, "not_understood", words=quoted(language, [frame.said]))
        columns = say(language, "columns_are", table=table.name, columns=_columns(language, table))
        labels = [column.label for column in table.columns]
        answering.keep(here, About.WORD, reading, options=labels)
        turn.ask(f"{understood} {columns}")
    elif here.tables and not frame.unused and not computed:
        turn.reply("\n".join(_described(here.language, one) for one in here.tables[:_TABLES_SHOWN]))
    elif here.tables:
        lacks(here, reading)
    else:
        text = say(language, "unusable", files=listed(language, [f.name for f in here.files]))
        turn.reply("\n\n".join(filter(None, [text, details(language, (), here.skipped, ())])))


def _of_those(here: Surroundings, reading: Reading) -> Frame:
    """As in "which one is best?" after an answer or a picture by region: which region."""
    frame = reading.frame
    base = here.works[0].frame.queries[:1] if here.works else ()
    ranks = (Aggregate.MAX, Aggregate.MIN)
    most = [m.aggregate for query in frame.queries for m in query.measures]
    if not reading.intent.it or reading.named - {"order"} or len(most) != 1 or not base:
        return frame
    if most[0] not in ranks or not (base[0].groups or base[0].time):
        return frame
    order = Order(most[0] is Aggregate.MAX, 1)
    return msgspec.structs.replace(
        frame, queries=(msgspec.structs.replace(base[0], order=order),), unused=()
    )


def _computed(frame: Frame) -> bool:
    return any(query.measures for query in frame.queries)


def _unknown(here: Surroundings, reading: Reading) -> str:
    words = reading.frame.unused or (shortened(reading.frame.said),)
    understood = say(here.language, "not_understood", words=quoted(here.language, words))
    return f"{understood}\n\n{help_text(here.language)}"


async def from_tables(here: Surroundings, reading: Reading) -> None:
    """Answer a question that a query of its frame stands for."""
    turn, language = here.turn, here.language
    frame = reading.frame
    files = [file for query in frame.queries for file in here.of_table(query.table)]
    files = files or files_by_id(turn, frame.files)
    frame = msgspec.structs.replace(
        frame, act=Act.ASK, thing=Thing.ANSWER, text=here.material or frame.text,
        files=tuple(file.id for file in files),
    )  # fmt: skip
    try:
        data = await turn.step(steps.ask_tables, files, to_json(frame))
    except (Unreadable, JobFailed) as error:
        turn.reply(str(error))
        return
    except (TimeoutError, WorkerDied, MemoryError) as error:
        logger.warning("a question took more than a call may use: %s", error)
        turn.reply(say(language, "too_much"))
        return
    found = msgspec.convert(data, Answer)
    lines = [found.text or say(language, "absent_answer")]
    lines += [say(language, "read_as", typed=a, meant=b) for a, b in reading.corrected]
    skipped = list(dict.fromkeys((*found.skipped, *here.skipped)))
    reported = details(language, found.used, skipped, found.notes)
    turn.state["answered"] = to_json(frame)
    turn.reply("\n\n".join(filter(None, ["\n".join(lines), reported])))


async def _from_documents(here: Surroundings, reading: Reading) -> None:
    turn, language = here.turn, here.language
    question = reading.frame.said
    names = [file.name for file in here.documents]
    try:
        data = await turn.step(
            steps.ask_documents, here.documents, question, language, here.material
        )
    except (Unreadable, JobFailed) as error:
        turn.reply(str(error))
        return
    except (TimeoutError, WorkerDied, MemoryError) as error:
        logger.warning("a question took more than a call may use: %s", error)
        turn.reply(say(language, "too_much"))
        return
    found = msgspec.convert(data, Answer)
    if found.outcome is Outcome.ANSWERED:
        text = found.text
    elif found.outcome is Outcome.PASSAGES:
        text = f"{say(language, 'passages')}\n{found.text}"
    elif found.used or here.tables:
        text = say(language, "absent_answer")
    else:
        text = say(language, "unread_files", files=listed(language, names))
    tables = [table.name for table in here.tables]
    if tables and found.outcome is not Outcome.ANSWERED and reading.frame.unused:
        words = quoted(language, reading.frame.unused)
        text += "\n\n" + say(language, "not_understood", words=words)
    skipped = list(dict.fromkeys((*found.skipped, *here.skipped)))
    reported = details(language, found.used, skipped, found.notes)
    turn.state.pop("answered", None)
    turn.reply(f"{text}\n\n{reported}".strip())


def lacks(here: Surroundings, reading: Reading) -> None:
    """Ask about words that no table has."""
    language = here.language
    table = _table(here, reading.frame.queries)
    words = reading.frame.unused
    labels = [column.label for column in table.columns]
    answering.keep(here, About.WORD, reading, words=words, options=labels)
    if all(_complete(one) for one in here.tables) and not reading.unclear:
        text = say(
            language, "lacks", table=table.name, words=quoted(language, words),
            columns=_columns(language, table),
        )  # fmt: skip
    else:
        # A value that is not kept in the description may be meant.
        understood = say(language, "not_understood", words=quoted(language, words))
        columns = say(language, "columns_are", table=table.name, columns=_columns(language, table))
        text = f"{understood} {columns}"
    if table.notes:  # a column may be missing because it could not be read
        text = f"{text}\n\n{details(language, (), (), table.notes)}"
    here.turn.ask(text)


def which(here: Surroundings, reading: Reading) -> None:
    """Ask which column or table is meant."""
    language = here.language
    if reading.ambiguous:
        word, columns = reading.ambiguous[0]
        answering.keep(here, About.WORD, reading, words=(word,), options=columns)
        labels = listed(language, list(columns), "or")
        text = say(language, "ambiguous", word=word, columns=labels)
        answering.one_of(here.turn, text, columns)
        return
    answering.keep(here, About.WORD, reading, options=reading.tables)
    text = say(language, "which_table", tables=listed(language, reading.tables))
    answering.one_of(here.turn, text, reading.tables)


def _table(here: Surroundings, queries: Sequence[Query]) -> Table:
    wanted = queries[0].table if queries else ""
    return next((one for one in here.tables if one.id == wanted), here.tables[0])


def _complete(table: Table) -> bool:
    """Whether all values of a table's categories are known."""
    return all(column.distinct <= len(column.values) for column in table.columns if column.values)


def _columns(language: str, table: Table) -> str:
    labels = [shortened(column.label, 60) for column in table.columns]
    more = [f"+{len(labels) - _COLUMNS_SHOWN}"] if len(labels) > _COLUMNS_SHOWN else []
    return listed(language, [*labels[:_COLUMNS_SHOWN], *more])


def _described(language: str, table: Table) -> str:
    return say(
        language, "table_is", table=table.name, rows=table.rows,
        columns=_columns(language, table),
    )  # fmt: skip
