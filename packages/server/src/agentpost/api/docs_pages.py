"""The pages below `/docs`: the API, and what its errors and reasons mean.

They are read without a key. Nothing on them is loaded from elsewhere, and there is no script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost.api.reference import Json, resources
from agentpost.contract import reasons
from agentpost.contract.errors import CATALOGUE

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "pages"
REASONS: Mapping[str, Mapping[Any, reasons.Meaning]] = {
    "`reason` of messages and jobs": reasons.REASONS,
    "`reason` of a `turn_failed` entry": reasons.TURN_FAILURES,
    "`disabled_reason` of a webhook endpoint": reasons.DISABLED_REASONS,
    "`status` of a delivery": reasons.DELIVERY_STATUSES,
}
"""Every table of reasons by its heading."""


def errors(base: str) -> bytes:
    """Every code and reason with its meaning and advice; a code has its own anchor. ``base``: the
    address of the server, without a slash at its end."""
    return _render("errors.html", base=base, errors=CATALOGUE, reasons=REASONS)


def reference(document: Json, base: str) -> bytes:
    """The operations of an OpenAPI description, with the call and an answer of each."""
    about = document["info"]["description"]
    return _render("reference.html", base=base, about=about, resources=resources(document))


def policy() -> str:
    """The content security policy of these pages: their own style and nothing else."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _render(name: str, **values: Any) -> bytes:
    from markupsafe import Markup

    template = _environment().get_template(name)
    return template.render(style=Markup(_style()), **values).encode()  # noqa: S704 - a file of ours


@cache
def _style() -> str:
    return (FOLDER / "docs.css").read_text("utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from agentpost.web.environment import as_code

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    filters: dict[str, Callable[[Any], Any]] = {
        "anchor": lambda title: title.replace("`", "").split(" ")[0],
        "marked": as_code,
        "pretty": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    }
    environment.filters.update(filters)
    return environment
