"""The options that all of a caller's commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from agentpost.cli import profiles


def one_of(*words: str) -> Callable[[str], list[str]]:
    """What completes the beginning of one of the words in a shell."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def _profile_names(incomplete: str) -> list[str]:
    """For the shell's completion."""
    try:
        names = profiles.load().by_name
    except profiles.UnusableProfiles:
        return []
    return [name for name in sorted(names) if name.startswith(incomplete)]


ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Profile to use (see `agentpost login`).",
        autocompletion=_profile_names,
    ),
]

Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="NAME=VALUE", help="Label of the message; repeatable."),
]
Busy = Annotated[
    str | None,
    typer.Option(
        metavar="wait|fail|queue",
        help="If the agent is busy with the conversation.",
        autocompletion=one_of("wait", "fail", "queue"),
    ),
]
MaxCredits = Annotated[
    float | None, typer.Option(metavar="N", help="Most credits the message may use.")
]
ResponseSchema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="JSON Schema of the output."),
]
Conversation = Annotated[
    str | None, typer.Option("--conversation", "-c", help="Only this conversation.")
]


def _named(name: str | None) -> str | None:
    """A variable of a script that is empty would mix the memory of customers."""
    if name is not None and not name.strip():
        raise typer.BadParameter("its name is empty; leave it out to send without one")
    return name


ConversationName = Annotated[
    str | None,
    typer.Option(
        "--conversation", "-c", callback=_named, help="Conversation, such as a customer's id."
    ),
]
EventNames = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Only these events, separated by commas.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Most items to list.")]
Before = Annotated[str | None, typer.Option(metavar="ID", help="Start after this item.")]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Start: a time, a day, or an age such as 3d.")
]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="End: a time, a day, or an age such as 2h.")
]
