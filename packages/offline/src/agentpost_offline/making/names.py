"""What files are called."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

_MOST = 60


def file_name(source: str, thing: str, version: int, suffix: str) -> str:
    """``orders-deck.pptx``, of the second version ``orders-deck-2.pptx``.

    Args:
        source: the name of the file or the title it was made from; letters of any script stay.
        thing: what it is; left out when empty.
        version: 1 for the first of a work.
        suffix: without the dot.
    """
    stem = PurePath(source).stem if re.search(r"\.\w{1,5}$", source) else source
    plain = unicodedata.normalize("NFKC", stem).casefold()
    plain = re.sub(r"[^\w]+|_+", "-", plain).strip("-")[:_MOST].strip("-")
    parts = [plain or "result", thing, str(version) if version > 1 else ""]
    return "-".join(part for part in parts if part) + f".{suffix}"
