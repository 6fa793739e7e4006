"""`agentpost events list`: what happened in the account, oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentpost.cli import given
from agentpost.cli.connection import connect, resolve
from agentpost.cli.errors import say
from agentpost.cli.options import AsJson, ProfileName
from agentpost.cli.printing import print_json
from agentpost.cli.tables import show_table
from agentpost.events import listen_places

if TYPE_CHECKING:
    from agentpost.events.listen_places import Place
    from agentpost_client import Client
    from agentpost_client.events import Event, EventPage

_PAGE_MAX = 200
_SHOWN_ONLY = ""  # the place of `listen` without --forward-to


def events_list(
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Start after this cursor of an earlier list."),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Only these events, separated by commas."),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", help="Only this conversation.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Most items to list.")] = 50,
    as_json: AsJson = False,
    profile: ProfileName = None,
) -> None:
    """List the events of the key's messages, oldest first; with the scope read_all, of all keys.

    Events are stored from the first `events list` or `listen`, until seven days after the last.
    With --json it is a page of the API, with the cursor to continue from.
    """
    from agentpost_client.errors import BadCursor

    names = given.event_names(events)
    server = resolve(profile)
    place = listen_places.load(server, _SHOWN_ONLY)
    with connect(profile) as client:

        def read(cursor: str) -> tuple[list[Event], EventPage]:
            events: list[Event] = []
            while True:
                size = min(limit - len(events), _PAGE_MAX)
                page = client.events.list(
                    cursor, types=names, conversation=conversation, limit=size
                )
                events += page.data
                cursor = page.cursor
                if not page.has_more or len(events) >= limit:
                    return events, page

        try:
            found, page = read(after or place.first or _begin(client, place))
        except BadCursor:
            if after is not None:
                raise
            found, page = read(_begin(client, place.begun_again()))
    if page.cursor_expired:
        say("older events are no longer stored")
    if as_json:
        data = [event.raw for event in found]
        print_json(
            {"object": "list", "data": data, "has_more": page.has_more, "cursor": page.cursor}
        )
        return
    rows = [(e.timestamp, e.type, e.id, _subject(e)) for e in found]
    show_table(("time", "event", "id", "of"), rows, empty="no event since then")
    more = "there are more" if page.has_more else "to list what comes next"
    say(f"{more}: agentpost events list --after {page.cursor}")


def _begin(client: Client, place: Place) -> str:
    """Have the account's events kept from now on, and remember where that was."""
    say("first call for this account: events are stored from now on")
    cursor = client.events.list(limit=1).cursor
    place.at(cursor).save()
    return cursor


def _subject(event: Event) -> str:
    """The message or job that it is about."""
    data = event.raw.get("data")
    about = data if isinstance(data, dict) else {}
    return str(about.get("job_id") or about.get("id") or "")
