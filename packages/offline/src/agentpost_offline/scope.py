"""What a message is about: its files and their kinds, and the works of the conversation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agentpost.agents.base import File, Turn
from agentpost_offline.data.model import Table
from agentpost_offline.documents import language as tongues
from agentpost_offline.frame import Frame, from_json
from agentpost_offline.grammar.captions import QUOTED
from agentpost_offline.grammar.edits import Work
from agentpost_offline.grammar.requests import Surrounding
from agentpost_offline.grammar.text import fold, name_tokens, tokens, wish_and_material
from agentpost_offline.grammar.typed_data import typed_table

_TABLES = re.compile(r"\.(?:csv|tsv|tab|xlsx?|xlsm|xlsb|ods|json|jsonl|parquet)$", re.IGNORECASE)
_SHEETS = re.compile(r"\.(?:csv|tsv|tab|xlsx?|xlsm|xlsb|ods|parquet)$", re.IGNORECASE)
_IMAGES = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?|avif)$", re.IGNORECASE)
_WEB = re.compile(r"\.html?$", re.IGNORECASE)
_UNUSABLE = ("video", "audio")
_NAMED = re.compile(
    r"(?<![\w.-])[\w-][\w.-]{0,100}\.(?:csv|tsv|tab|xlsx?|xlsm|md|txt|pdf|docx?|html?|json|pptx|png"
    r"|jpe?g|webp|avif)\b",
    re.IGNORECASE,
)
_NAMING = re.compile(
    r"(?:\bas|called|named|\bto|\binto|titled?|als|como|comme)\s+[\"“„'«]?$", re.IGNORECASE
)


@dataclass
class Surroundings:
    """Everything that decides what a message means, besides its words."""

    turn: Turn
    language: str
    files: list[File]
    tables: list[Table] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    material: str = ""
    material_of: str = ""
    """The message that the material stands in."""
    works: list[Work] = field(default_factory=list)
    inside: dict[str, list[str]] = field(default_factory=dict)
    """The kinds of files in each archive, by its id; of a web page with tables and text both."""
    is_new: bool = False
    """Whether the conversation begins: its language is not known yet."""
    is_unanswered: bool = False
    """Whether the message before was a request that was asked about, or failed."""
    too_much: bool = False
    """Whether looking at the files took more memory or time than it may."""

    @property
    def around(self) -> Surrounding:
        """What a message is read over."""
        message = self.turn.message
        brings_material = bool(self.material) and self.material_of == message.message_id
        return Surrounding(
            self.tables, frozenset(self.kinds), self.works, message.at[:10], self.language,
            bool(message.files or brings_material), self.is_unanswered,
            [file.name for file in self.files],
        )  # fmt: skip

    def of_table(self, table: str) -> list[File]:
        """The file that a table is in; none for one pasted into the message."""
        file = next((one.file for one in self.tables if one.id == table), "")
        return [one for one in self.files if one.id == file]

    @property
    def table_files(self) -> list[File]:
        """Files in which there are tables."""
        with_tables = {table.file for table in self.tables}
        return [file for file in self.files if file.id in with_tables]

    @property
    def documents(self) -> list[File]:
        """Files that are read as text: also JSON and the like, with or without tables."""
        return [
            file
            for file in self.usable
            if not (is_image(file) or _SHEETS.search(file.name))
            and (file.kind != "archive" or "document" in self.inside.get(file.id, ()))
        ]

    @property
    def prose(self) -> list[File]:
        """Documents that are no data: in these passages are looked for without being asked."""
        return [
            file for file in self.documents
            if not (is_table(file) or file in self.data_pages)
        ]  # fmt: skip

    @property
    def data_pages(self) -> list[File]:
        """Web pages that are tables and hardly anything else."""
        return [
            file for file in self.table_files
            if _WEB.search(file.name) and "document" not in self.inside.get(file.id, ())
        ]  # fmt: skip

    @property
    def images(self) -> list[File]:
        """Pictures."""
        return [file for file in self.files if is_image(file)]

    @property
    def usable(self) -> list[File]:
        """Files that can be made something of."""
        return [file for file in self.files if file.kind not in _UNUSABLE]

    @property
    def kinds(self) -> set[str]:
        """Kinds of input that are there, as `Maker.needs` names them."""
        has_typed = any(not table.file for table in self.tables)
        data = bool(self.data_pages) or any(is_table(file) for file in self.files)
        members = {
            kind for file in self.files if file.kind == "archive"
            for kind in self.inside.get(file.id, ())
        }  # fmt: skip
        matches = {
            "table": has_typed or data or "data" in members, "document": bool(self.prose),
            "image": bool(self.images) or "image" in members,
            "text": bool(self.material) and not has_typed,
        }  # fmt: skip
        return {kind for kind, there in matches.items() if there}


def is_table(file: File) -> bool:
    """Whether a file is data and not text."""
    return file.kind == "data" or bool(_TABLES.search(file.name))


def is_image(file: File) -> bool:
    """Whether a file is a picture."""
    return file.kind == "image" or bool(_IMAGES.search(file.name))


def files_of(turn: Turn, wish: str) -> list[File]:
    """The files a message is about: its own, else those it names, else the last ones sent."""
    folded_wish = wish.casefold()
    if turn.message.files:
        own_files = [file for file in turn.message.files if file.name.casefold() in folded_wish]
        return own_files or list(turn.message.files)
    uploads = [one.files for one in reversed(turn.history) if one.role == "user" and one.files]
    earlier = {
        f.name: f for files in reversed(uploads) for f in files if f.name.casefold() in folded_wish
    }
    return list(earlier.values()) or list(uploads[0] if uploads else ())


def files_by_word(files: Sequence[File], text: str, language: str) -> list[File]:
    """The files of which a word is in the text: "the tent one" is ``tent.jpg``; a word that all
    names have, that stands in every sentence, or that is quoted to stand on a picture, tells
    nothing."""
    words: list[set[str]] = [
        set(map(fold, name_tokens(one.name.rpartition(".")[0]))) for one in files
    ]
    typed = {fold(one.text) for one in tokens(QUOTED.sub(" ", text)) if len(one.text) > 2}
    typed -= tongues.words(language)["stop"]
    typed -= words[0].intersection(*words) if words else typed
    return [one for one, own in zip(files, words, strict=True) if own & typed]


def absent_files(turn: Turn, wish: str) -> list[str]:
    """Files that a wish names as sources and that nobody has sent."""
    names = [file.name for one in (turn.message, *turn.history) for file in one.files]
    names += [file.name for work in turn.works for file in work.files]
    there = " ".join(names).casefold()
    matches = [
        match[0]
        for match in _NAMED.finditer(wish)
        if match[0].casefold() not in there and not _NAMING.search(wish[: match.start()][-20:])
    ]
    return list(dict.fromkeys(matches))


def files_by_id(turn: Turn, ids: Iterable[str]) -> list[File]:
    """Files of the conversation by their ids; those that are gone are left out."""
    by_id = {f.id: f for one in (turn.message, *turn.history) for f in one.files}
    by_id |= {f.id: f for work in turn.works for f in work.files}
    return [by_id[key] for key in ids if key in by_id]


def frame_of(data: Any) -> Frame | None:
    """A frame from its JSON; None when there is none, or none that can be read."""
    if not isinstance(data, dict):
        return None
    try:
        return from_json(data)
    except msgspec.ValidationError:
        return None  # written by another version


def earlier_material(turn: Turn, message_id: str, language: str) -> str:
    """The text or table that was pasted or typed into an earlier message."""
    for one in turn.history:
        if one.message_id == message_id and one.role == "user":
            wish, material = wish_and_material(one.text)
            if data := material or typed_table(wish, language)[1]:
                return data
    return ""
