"""Writes what docs/errors.md takes from the code: codes with status, meaning and advice; reasons.

    python docs/errors.py

The first paragraph below the heading of a code is made; what follows it is written by hand and
stays. A new code gets a section, one that is gone loses its own. The part about reasons is made
whole. tests/house/test_generated.py fails when the page is not up to date.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from agentpost.api.docs_pages import REASONS
from agentpost.contract.errors import CATALOGUE

PAGE = Path(__file__).with_name("errors.md")
SECTION = re.compile(r"^## `(\w+)`\n+(.*?)(?=^## |\Z)", re.M | re.S)
INTRO = """\
## Reasons

A message that was accepted and did not simply complete is not an error: a field says why. Any
release may add a value; treat one that you do not know like `failed`.
"""


def page(old: str) -> str:
    """The page, with what ``old`` has besides."""
    head = old[: old.index("## `")]
    written = {name: _by_hand(text) for name, text in SECTION.findall(old)}
    parts = [head.strip()]
    for name, code in CATALOGUE.items():
        about = f"HTTP {code.status}. {code.meaning} {code.advice}"
        parts += [f"## `{name}`", *_wrapped(about), *written.get(name, [])]
    return "\n\n".join([*parts, INTRO.strip(), *_reasons()]) + "\n"


def _by_hand(text: str) -> list[str]:
    """The paragraphs after the first."""
    return text.strip().split("\n\n")[1:]


def _wrapped(text: str) -> list[str]:
    return ["\n".join(textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False))]


def _reasons() -> Iterator[str]:
    for title, table in REASONS.items():
        rows = [f"| `{name}` | {row.meaning} | {row.advice} |" for name, row in table.items()]
        head = ["| Value | Meaning | What to do |", "|---|---|---|"]
        yield f"### {title}"
        yield "\n".join([*head, *rows])


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
