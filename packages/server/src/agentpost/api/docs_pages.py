"""The pages below `/docs`: the API, and what its errors and reasons mean.

They are read without a key. Nothing on them is loaded from elsewhere, and there is no script.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from agentpost.api.reference import Json, resources
from agentpost.contract import reasons
from agentpost.contract.errors import CATALOGUE

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

    from agentpost.web import environment

    page = (
        environment.make("")
        .get_template(f"api/pages/{name}")
        .render(
            style=Markup(_style()),  # noqa: S704 - a file of ours
            anchor=lambda title: title.replace("`", "").split(" ")[0],
            pretty=partial(json.dumps, indent=2, ensure_ascii=False),
            **values,
        )
    )
    return page.encode()


@cache
def _style() -> str:
    return (Path(__file__).parent / "pages/docs.css").read_text("utf-8")
