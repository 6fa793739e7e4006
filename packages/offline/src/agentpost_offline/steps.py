"""What the turn and the job let worker processes do: read files, and answer questions from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentpost.agents.base import File

SECONDS = 120.0
"""How long one step may take."""


def survey(files: Sequence[File], message_text: str = "") -> dict[str, Any]:
    """The tables of files as JSON, what could not be read, and the kinds of files in each archive:
    ``tables``, ``skipped`` and ``inside``."""
    from agentpost_offline.data.archives import inside
    from agentpost_offline.data.dataset import survey as look

    return {**look(files, message_text), "inside": {file.id: kinds for file in files
                                              if (kinds := inside(file))}}  # fmt: skip


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
