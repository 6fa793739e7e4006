"""The request log: what was asked of the API and what it answered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentpost.cli.commands import command
from agentpost.cli.connection import errors_told, resolve
from agentpost.cli.long_connections import staying_connected, until_answered
from agentpost.cli.options import ProfileName
from agentpost.cli.printing import Result, print_text, screen

if TYPE_CHECKING:
    from agentpost_client import Client
    from agentpost_client.models import LoggedRequest, LoggedRequestDetails

_STYLES: Final = {2: "green", 3: "cyan", 4: "yellow", 5: "red"}
_WAIT_SECONDS: Final = 45
_PAGE_MAX: Final = 100


@command(
    "requests tail",
    "agentpost requests tail",
    "agentpost requests tail --status failed --path /v1/messages",
)
def tail(
    status: Annotated[str | None, typer.Option(help="404, 4xx, or failed (400 and above).")] = None,
    method: Annotated[str | None, typer.Option(help="Method, such as POST.")] = None,
    path: Annotated[str | None, typer.Option(help="Part of the path.")] = None,
    error: Annotated[str | None, typer.Option(help="Error code.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY_ID", help="Only this key.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, max=100, help="Earlier requests to show first.")
    ] = 10,
    profile: ProfileName = None,
) -> Result:
    """Follow the requests to the API.

    A key sees its own requests; with the scope read_all, those of all keys of the account. The
    command reconnects automatically and misses nothing. Reads of this log are left out.
    """
    method = method.upper() if method is not None else None
    filters = {"status": status, "method": method, "path": path, "error": error, "key": key}
    with staying_connected(profile) as (client, _):
        for one in _follow(client, filters, limit):
            Result(one.raw, partial(_line, one)).print()
    return Result()


def _follow(client: Client, filters: dict[str, Any], limit: int) -> Iterator[LoggedRequest]:
    page = until_answered(lambda: client.requests.list(limit=_PAGE_MAX, **filters))
    earlier = [one for one in page.data if not _reads_the_log(one)]
    yield from reversed(earlier[:limit])
    shown = {one.id for one in page.data}  # the last ones come once more, on one page or several
    while True:
        ask = partial(client.requests.list, page.cursor, wait=_WAIT_SECONDS, limit=_PAGE_MAX)
        page = until_answered(partial(ask, patient=True, **filters))
        yield from (one for one in page.data if one.id not in shown)


def _reads_the_log(one: LoggedRequest) -> bool:
    """The server leaves these out of what comes later."""
    return one.method == "GET" and one.path.startswith("/v1/requests")


@command(
    "requests show",
    "agentpost requests show req_0660c5",
    "agentpost requests show req_0660c5 --curl",
)
def show(
    request_id: Annotated[str, typer.Argument(metavar="REQUEST_ID")],
    curl: Annotated[bool, typer.Option("--curl", help="Print it as a curl command.")] = False,
    profile: ProfileName = None,
) -> Result:
    """Show a request with its bodies.

    The id is the header Request-Id of the answer; error messages of this program end with it.
    """
    from agentpost.cli.connection import say_retry
    from agentpost_client import Client

    server = resolve(profile)
    with errors_told(server), Client(server.url, server.key, on_retry=say_retry) as client:
        request = client.requests.get(request_id)
    if not curl:
        return Result(request.raw, partial(_show, request))
    from agentpost.requests.shapes import as_curl

    sent = (request.method, request.path, request.request_body, request.request_bytes)
    return Result(request.raw, as_curl(server.url, *sent))


def _line(one: LoggedRequest | LoggedRequestDetails) -> None:
    """When, the status, what was asked, how long it took, the error and the id."""
    when = one.created_at.astimezone().strftime("%H:%M:%S") if one.created_at else ""
    screen().columns(
        (when, "dim"),
        (str(one.status), _STYLES.get(one.status // 100, "")),
        (f"{one.method:<6}", ""),
        (one.path, ""),
        (f"{one.ms} ms", "dim"),
        *((text, style) for text, style in ((one.error, "red"), (one.key_name, "dim")) if text),
        (one.id, "dim"),
    )


def _show(request: LoggedRequestDetails) -> None:
    from agentpost.requests.shapes import pretty

    _line(request)
    facts = screen()
    if request.created_at is not None:
        facts.line(f"at {request.created_at.isoformat()}", style="dim")
    facts.line(f"key {request.key_name or '-'} ({request.key_id or 'unknown'})", style="dim")
    if request.traceparent:
        facts.line(f"traceparent {request.traceparent}", style="dim")
    for name, body, size in (
        ("request", request.request_body, request.request_bytes),
        ("response", request.response_body, request.response_bytes),
    ):
        note = "" if body else ", not kept" if size else ""
        facts.line(f"{name} body ({size} bytes{note})", style="bold")
        if body:
            print_text(pretty(body))
