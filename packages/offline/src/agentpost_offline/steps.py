"""What the turn and the job let worker processes do: read files, and answer questions from them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import File

SECONDS = 120.0
"""How long one step may take."""


def survey(files: Sequence[File], message_text: str = "") -> dict[str, Any]:
    """The tables of files as JSON, what could not be read, and the kinds of files in each archive:
    ``tables``, ``skipped`` and ``inside``. A web page with tables and text is two kinds, too."""
    from agentpost_offline.data.archives import inside
    from agentpost_offline.data.dataset import open_tables
    from agentpost_offline.documents.reading import is_text_page

    with open_tables(files, message_text) as data:
        tables, omissions = msgspec.json.encode(data.tables), list(data.skipped)
        pages = {table.file for table in data.tables}
    kinds_by_id = {file.id: inside(file) for file in files}
    kinds_by_id |= {
        file.id: ["data", "document"] for file in files if file.id in pages and is_text_page(file)
    }
    inside_json = {key: kinds for key, kinds in kinds_by_id.items() if kinds}
    return {"tables": msgspec.json.decode(tables), "skipped": omissions, "inside": inside_json}


def ask_tables(files: Sequence[File], frame: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question over tables; see `data.answers.answer`."""
    from agentpost_offline.data.answers import answer

    result: dict[str, Any] = answer(files, frame)
    return result


def ask_documents(
    files: Sequence[File], question: str, language: str, message_text: str = ""
) -> dict[str, Any]:
    """The answer to a question over documents, as `Answer`."""
    from agentpost_offline.data.archives import unpacking
    from agentpost_offline.documents.answers import answer

    result: dict[str, Any] = unpacking(answer)(files, question, language, message_text)
    return result
