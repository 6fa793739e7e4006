"""What is installed only on request: the extras, and what is missing of them, without an import. A
test compares the names with ``optional-dependencies`` of pyproject.toml."""

from importlib.util import find_spec
from typing import Final

_EXTRACTION: Final = ("chardet", "lxml", "openpyxl", "pypdfium2")
_OFFLINE: Final = (
    "agentpost_offline",
    *_EXTRACTION,
    *("duckdb", "fontpkg_inter", "manimgx_fonts", "msgspec", "PIL"),
    *(
        "mammoth",
        "python_calamine",
        "docx",
        "pptx",
        "rapidfuzz",
        "snowballstemmer",
        "typst",
        "xlsxwriter",
    ),
)
_SCHEMAS: Final = ("jsonschema_rs",)
_LLM: Final = ("pydantic_ai", "anthropic", "fastmcp", "openai", *_SCHEMAS)
MODULES: Final = {
    "schemas": _SCHEMAS,
    "extraction": _EXTRACTION,
    "offline": _OFFLINE,
    "cjk": ("manimgx_fonts_cjk",),
    "video": (*_OFFLINE, "av"),
    "postgres": ("psycopg",),
    "oidc": ("authlib", "joserfc"),
    "redis": ("redis",),
    "s3": ("boto3", "obstore"),
    "mcp": ("mcp",),
    "a2a": ("a2a", "sse_starlette"),
    "llm": _LLM,
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "verify": ("agentpost_verify",),
    "sandbox": (*_LLM, "pydantic_monty"),
}
"""The modules that each extra brings."""

OFFLINE_ASKED: Final = "AGENTPOST_AGENT is 'offline', the built-in agent"
LLM_ASKED: Final = "AGENTPOST_AGENT begins with 'llm:', an agent whose model is a service"
POSTGRES_ASKED: Final = "AGENTPOST_DATABASE_URL names a PostgreSQL database"
OIDC_ASKED: Final = "AGENTPOST_OIDC_ISSUER is set"
REDIS_ASKED: Final = "AGENTPOST_REDIS_URL is set"
OTEL_ASKED: Final = "AGENTPOST_OTLP_ENDPOINT is set"
SCHEMA_ASKED: Final = "a JSON Schema is to be checked"
S3_ASKED: Final = "AGENTPOST_STORAGE_URL names an S3 bucket"


class MissingExtra(ValueError):
    """A setting asks for what an extra brings; the text says how to install it."""

    def __init__(self, extra: str, why: str, missing: str) -> None:
        # In the environment of an agent of its own there is no server.
        package = "agentpost" if _is_there("agentpost.server") else "agentpost-agents"
        super().__init__(
            f"{why}, and packages for that are not installed ({missing})."
            f" Install them: pip install '{package}[{extra}]', or in a clone: make setup"
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
    except ModuleNotFoundError:  # of the package around it
        return False
    except ValueError:  # imported without a spec, as a test may do
        return True
