"""What the reader of a table must know, in the reader's language."""

from __future__ import annotations

from agentpost_offline.data import wording

Note = tuple[str, dict[str, object]]
"""A text's key (among the ``notes`` of ``texts/*.json``) and what stands in it."""


def said(note: Note, language: str) -> str:
    """A note in words; with a ``count`` of one in the singular, where that has its own text."""
    key, values = note
    texts: dict[str, str] = wording.texts(language)["notes"]
    form = texts.get(f"{key}_one", "") if values.get("count") == 1 else ""
    shown = {k: f"{v:,}" if isinstance(v, int) else v for k, v in values.items()}
    return (form or texts[key]).format(**shown)
