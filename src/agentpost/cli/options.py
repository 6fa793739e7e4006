"""The options that all of a caller's commands have."""

from __future__ import annotations

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
        found = profiles.load().by_name
    except profiles.UnusableProfiles:
        return []
    return [name for name in sorted(found) if name.startswith(incomplete)]


AsJson = Annotated[bool, typer.Option("--json", help="Print the API's records as JSON.")]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="The server to call: a profile of `agentpost login`.",
        autocompletion=_profile_names,
    ),
]

Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="NAME=VALUE", help="Comes back with it; repeatable."),
]
Busy = Annotated[
    str | None,
    typer.Option(
        metavar="wait|fail|queue",
        help="While the agent answers another message of the conversation.",
        autocompletion=one_of("wait", "fail", "queue"),
    ),
]
MaxCredits = Annotated[
    float | None, typer.Option(metavar="N", help="Park work that would use more credits.")
]
ResponseSchema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A JSON Schema that the output has to fit."),
]
Conversation = Annotated[
    str | None, typer.Option("--conversation", "-c", help="Only those of this conversation.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, the newest first.")]
Before = Annotated[str | None, typer.Option(metavar="ID", help="Only those behind it in the list.")]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="From then on: a time, a day, or an age (3d).")
]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="Before then: a time, a day, or an age (2h).")
]
