"""What is installed only on request: the extras of the distribution, and what is missing of them.

Nothing is imported to find out. A test compares the names with ``optional-dependencies`` of
pyproject.toml.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

_EXTRACTION: Final = ("lxml", "openpyxl", "pypdfium2")
_OFFLINE: Final = (
    *_EXTRACTION,
    *("duckdb", "fontpkg_inter", "manimgx_fonts", "msgspec", "PIL"),
    *("python_calamine", "docx", "pptx", "rapidfuzz", "snowballstemmer", "typst", "xlsxwriter"),
)
MODULES: Final = {
    "extraction": _EXTRACTION,
    "offline": _OFFLINE,
    "cjk": ("manimgx_fonts_cjk",),
    "video": (*_OFFLINE, "av"),
    "postgres": ("procrastinate", "psycopg", "psycopg_pool"),
    "redis": ("redis",),
    "s3": ("boto3", "obstore"),
}
"""The modules that each extra brings."""

OFFLINE_ASKED: Final = "AGENTPOST_AGENT is 'offline', the built-in agent"
POSTGRES_ASKED: Final = "AGENTPOST_DATABASE_URL names a PostgreSQL database"
REDIS_ASKED: Final = "AGENTPOST_REDIS_URL is set"
S3_ASKED: Final = "AGENTPOST_STORAGE_URL names an S3 bucket"


class MissingExtra(ValueError):
    """A setting asks for what an extra brings; the text says how to install it."""

    def __init__(self, extra: str, why: str, missing: str) -> None:
        super().__init__(
            f"{why}, and packages for that are not installed ({missing})."
            f" Install them: pip install 'agentpost[{extra}]'"
        )


def missing(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [name for name in MODULES[extra] if not _is_there(name)]


def require(extra: str, why: str) -> None:
    """Raise `MissingExtra` unless everything of the extra is installed; ``why`` is a clause that
    names the setting, such as "AGENTPOST_REDIS_URL is set"."""
    names = missing(extra)
    if names:
        raise MissingExtra(extra, why, ", ".join(names))


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # imported without a spec, as a test may do
        return True
