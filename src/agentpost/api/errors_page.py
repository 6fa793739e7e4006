"""The page behind every error's ``docs`` link, made from the catalogue."""

from __future__ import annotations

import re
from html import escape

from agentpost.contract.errors import CATALOGUE

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}"
    "h2{margin:2rem 0 .2rem}code{font-size:.95em}"
    "h2 small{font-weight:400;opacity:.7}:target{background:#fe06}"
)
_CODE = re.compile("`([^`]*)`")


def page() -> bytes:
    """Every code with its status, meaning and advice, each under its own anchor."""
    sections = "".join(
        f'<h2 id="{name}"><code>{name}</code> <small>{code.status}</small></h2>'
        f"<p>{_markup(code.meaning)}<br><strong>What to do:</strong> {_markup(code.advice)}</p>"
        for name, code in CATALOGUE.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>agentpost: errors</title><style>{_STYLE}</style><h1>Errors</h1>"
        "<p>Every failure has this shape: <code>error</code> (the code below), "
        "<code>message</code>, <code>request_id</code>, <code>docs</code>.</p>"
        f"{sections}</html>"
    ).encode()


def _markup(text: str) -> str:
    """The catalogue's text, which marks names with backticks, as HTML."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
