"""The templates' environment: everything is escaped, and a missing name is an error.

Besides its model, a template can use ``ui`` (the macros of `layout/macros.html`), ``icon(name)``,
``asset(name)``, ``limits`` (of the API), ``base`` (the path of the app's public URL), and the
filters below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentpost.domain import limits
from agentpost.domain.text import displayable, human_size
from agentpost.domain.times import SECOND
from agentpost.files.previews import look_of
from agentpost.web import assets
from agentpost.web.markdown import markdown, plain

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_FOLDER: Final = Path(__file__).parent
_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""Most claim to be those below, too; so the first that fits is right."""
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
_NUMBER: Final = re.compile(r"[+\-−]?[$€£]?\d[\d.,' \u00a0\u202f]*(?:[eE][+\-]?\d+)?\s?%?")
_MODULE: Final = re.compile(r"[\w.]+[.:](?=\w+$)")
_CODE: Final = re.compile("`([^`]+)`")
_SYMBOL: Final = re.compile(r'<symbol id="([a-z0-9-]+)">(.*?)</symbol>')
_ICON: Final = (
    '<svg class="icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">%s</svg>'
)


@cache
def make(base: str) -> Environment:
    """The environment; ``base`` is the path of the app's public URL. The same for all that have the
    same path, since compiling the templates of a page takes a tenth of a second."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([_FOLDER, _FOLDER.parent]),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        base=base, icon=icon, limits=limits, asset=lambda name: base + assets.address(name)
    )
    environment.filters.update(size=human_size, credits=in_credits, look=look_of)
    environment.filters |= {each.__name__: each for each in _FILTERS}
    environment.globals["ui"] = environment.get_template("layout/macros.html").module
    return environment


def icon(name: str) -> Markup:
    """A picture of `layout/icons.svg`, in the colour of the text around it."""
    from markupsafe import Markup

    return Markup(_ICON % _icons()[name])  # noqa: S704  both are our own


@cache
def _icons() -> Mapping[str, str]:
    return dict(_SYMBOL.findall((_FOLDER / "layout/icons.svg").read_text("utf-8")))


def name(text: str) -> Markup:
    """A title or file name: one line, and in whatever direction it is written, its neighbours keep
    their places."""
    from markupsafe import Markup

    visible = displayable(text, "\N{REPLACEMENT CHARACTER}", lines=False)
    return Markup("<bdi>{}</bdi>").format(visible)


def as_code(text: str) -> Markup:
    """A sentence whose commands stand between backticks: they are shown as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped before


def moment(at: int) -> Markup:
    """A time in microseconds, to the minute: in UTC, or where the viewer is once the page's script
    has run."""
    from markupsafe import Markup

    when = datetime.fromtimestamp(at // SECOND, UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        when.strftime("%Y-%m-%dT%H:%M:%SZ"), when.strftime("%Y-%m-%d %H:%M UTC")
    )


def ago(at: int) -> Markup:
    """A `moment` that the page's script shows as its distance from now, such as "5 min ago"."""
    from markupsafe import Markup

    return Markup(str(moment(at)).replace("<time ", "<time data-ago ", 1))  # noqa: S704  our own


def browser(agent: str) -> str:
    """A browser by the name people know it by, of what it calls itself."""
    if not agent.startswith("Mozilla/"):
        return agent or "Unknown browser"
    name = next((name for mark, name in _BROWSERS if mark in agent), "A browser")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    return f"{name} on {system}" if system else name


def amount(value: float) -> str:
    """A number for people: thousands apart, up to two decimals."""
    return f"{value:,.2f}".removesuffix(".00")


def exact(value: float) -> str:
    """A number of credits for people: thousands apart, with all the decimals it has."""
    digits = f"{value:,.6f}".rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def in_credits(value: float) -> str:
    """``1 credit``, ``1,000 credits``."""
    amount = exact(value)
    return f"{amount} credit" if amount == "1" else f"{amount} credits"


def cents(value: float) -> str:
    """`exact` with at least two decimals: for amounts below each other."""
    whole, _, decimals = exact(value).partition(".")
    return f"{whole}.{decimals:0<2}"


def numeric(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Of each column, whether it has numbers below its head; some cells may be empty."""
    return [
        any(column) and all(not cell or _NUMBER.fullmatch(cell) for cell in column)
        for _, *column in zip_longest(*rows, fillvalue="")
    ]


def last_part(call: str) -> str:
    """A recorded call without the module of its function: ``step report`` for ``step
    my.agents:report``."""
    return _MODULE.sub("", call)


def words(code: Any) -> str:
    """A code of ours, such as a status, as words."""
    return str(getattr(code, "value", code)).replace("_", " ")


def plural(count: int, one: str, many: str = "") -> str:
    """``1 job``, ``2 jobs``; ``many`` where the plural is not made by an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def took(microseconds: int) -> str:
    """How long something took, such as ``850 ms``, ``12 s``, ``3 min 5 s`` or ``2 h 4 min``."""
    milliseconds = microseconds * 1_000 // SECOND
    if milliseconds < 1_000:
        return f"{max(milliseconds, 0)} ms"
    whole = milliseconds // 1_000
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


_FILTERS: Final = (
    *(name, moment, ago, amount, browser, exact, numeric, cents, as_code, markdown, plain, took),
    *(last_part, words, plural),
)
"""Those that a template calls as they are called here."""
