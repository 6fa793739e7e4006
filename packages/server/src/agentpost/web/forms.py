"""Forms: whether one came from our own page, and what it says."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.text import UNSTORABLE
from agentpost.http.bodies import TooSlow, chunks
from agentpost.settings import Settings
from agentpost.web.page import Handler, View, Viewer

_BYTES_MAX = 256 * 1024
_FIELDS_MAX = 200
_UNREADABLE = "The form could not be read. Reload the page and try again."


class FormRefused(Exception):
    """A form says what is wrong with it, and is shown again (`takes_form`)."""


@dataclass(slots=True)
class Form:
    """A form as it was filled in, and what is wrong with it.

    A template shows a field with its value and its error by ``ui.field(form, "name", ...)``, so a
    page gives a fresh one to its template when nothing was sent yet.
    """

    values: Mapping[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """Of a response that shows it."""
        return 422 if self.errors else 200

    def text(self, name: str, default: str = "") -> str:
        """A field's value, without white space at its ends."""
        values = self.values.get(name)
        return values[-1].strip() if values else default

    def exact(self, name: str) -> str:
        """A field's value as it was typed, for passwords."""
        values = self.values.get(name)
        return values[-1] if values else ""

    def all(self, name: str) -> list[str]:
        """Every value of a field, such as of check boxes."""
        return self.values.get(name, [])

    def has(self, name: str) -> bool:
        """Whether a box is checked, or a button was the one pressed."""
        return name in self.values

    def wrong(self, name: str, text: str) -> None:
        """Say beside a field what to change; the first problem of a field stays."""
        self.errors.setdefault(name, text)

    def refuse(self, name: str, problem: object) -> None:
        """`wrong` in the words of an error, as a sentence."""
        text = str(problem)
        self.wrong(name, f"{text[0].upper()}{text[1:]}.")

    def refusal(self, name: str, text: str) -> FormRefused:
        """`wrong`; what to raise so that the page is shown again."""
        self.wrong(name, text)
        return FormRefused()

    @contextmanager
    def refusing(self, name: str, text: str = "") -> Iterator[None]:
        """Inside, a `ValueError` is a problem of that field, told in its own words or by ``text``;
        with ``form`` as the field, which is all of it, ``bad_request`` is. Raises `FormRefused`."""
        try:
            yield
        except ValueError as problem:
            if text:
                self.wrong(name, text)
            self.refuse(name, problem)
            raise FormRefused from None
        except Refusal as refusal:
            if name != "form" or refusal.code != ErrorCode.BAD_REQUEST:
                raise
            raise self.refusal(name, refusal.message) from None


def takes_form(show: Handler) -> Callable[[Handler], Handler]:
    """Declare the handler of a form, which is called with it behind (ctx, request, viewer). For one
    that is refused the page is shown again by ``show``, which is given it as ``form``."""

    def declare(handler: Handler) -> Handler:
        @wraps(handler)
        async def handle(ctx: AppContext, request: Request, *viewer: Viewer, **path: str) -> View:
            form = await read(ctx, request)
            try:
                return await handler(ctx, request, *viewer, form, **path)
            except FormRefused:
                return await show(ctx, request, *viewer, form=form, **path)

        return handle

    return declare


async def read(ctx: AppContext, request: Request) -> Form:
    """The form that was posted. Raises ``bad_request`` for a body that is no form, ``too_large``
    for one of more than 256 KiB."""
    if request.headers.get("content-type", "").partition(";")[0] not in (
        "",
        "application/x-www-form-urlencoded",
    ):
        raise Refusal(ErrorCode.BAD_REQUEST, _UNREADABLE)
    body = bytearray()
    try:
        async for chunk in chunks(request, ctx.settings.body_idle_seconds):
            body += chunk
            if len(body) > _BYTES_MAX:
                raise Refusal(ErrorCode.TOO_LARGE, "The form is too large.")
    except TooSlow as problem:
        raise Refusal(ErrorCode.BAD_REQUEST, f"The form is incomplete: {problem}.") from None
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise Refusal(ErrorCode.BAD_REQUEST, _UNREADABLE) from None
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value))
    return Form(values)


def from_own_page(request: Request, settings: Settings) -> bool:
    """Whether no other site can have sent this form. ``Sec-Fetch-Site`` tells; browsers send it to
    HTTPS and local addresses. Elsewhere ``Origin`` does. A request with neither comes from no
    browser of today, so no site can have caused it."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    if origin is None:
        return True
    app = urlsplit(settings.public_app_url)
    source = urlsplit(origin)
    # Behind a proxy the Host header may be another than the one in the address bar.
    return bool(source.netloc) and (
        source.netloc == request.headers.get("host") or source[:2] == (app.scheme, app.netloc)
    )
