"""Questions that wait for an answer: the choices, and the request that goes on with each."""

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from agentpost.agents.base import Turn
from agentpost_offline.grammar.reading import Choice
from agentpost_offline.scope import Surroundings

_KEPT = "asked"
_CHOICES = 50
_CHOICE_CHARACTERS = 200


class Pending(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question that was asked.

    Args:
        choices: what each answer starts.
        text: a request that lacks a file: the next message may bring it.
        files: ids of the files that it is about.
        message: the message that its pasted text or table is in.
    """

    choices: tuple[Choice, ...] = ()
    text: str = ""
    files: tuple[str, ...] = ()
    message: str = ""

    def choice_of(self, answer: str) -> Choice | None:
        """The choice that an answer names, by its words or its number."""
        reply = _plain(answer)
        for choice in self.choices:
            if reply and reply == _plain(choice.label):
                return choice
        words = set(reply.split())
        matches = [
            one
            for one in self.choices
            if one.table and words <= set(re.findall(r"\w+", one.label.casefold()))
        ]
        if words and len(matches) == 1:  # the sheet of a workbook
            return matches[0]
        if re.fullmatch(r"[1-9]\d?", reply) and int(reply) <= len(self.choices):
            return self.choices[int(reply) - 1]
        return None


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .!?。！？").casefold()


def ask(here: Surroundings, question: str, choices: Sequence[Choice] = (), text: str = "") -> None:
    """Ask, and remember what each answer starts. ``text``: a request that waits for a file."""
    offers: list[Choice] = []
    for choice in choices:
        label = choice.label.strip()[:_CHOICE_CHARACTERS]
        if label and label.casefold() not in {one.label.casefold() for one in offers}:
            offers.append(replace(choice, label=label))
    offers = offers[:_CHOICES]
    pending = Pending(tuple(offers), text, tuple(file.id for file in here.files), here.material_of)
    here.turn.state[_KEPT] = msgspec.to_builtins(pending)
    here.turn.ask(question, choices=[one.label for one in offers] or None)


def take(turn: Turn) -> Pending | None:
    """The question that the last message ended with; it is answered now or never."""
    data = turn.state.pop(_KEPT, None)
    try:
        return msgspec.convert(data, Pending) if data is not None else None
    except msgspec.ValidationError:
        return None  # written by another version
