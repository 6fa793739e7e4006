"""What the agent offers: everything that can be made, with its formats and price."""

from __future__ import annotations

from agentpost.agents.offline.making import catalogue
from agentpost.agents.offline.replying import say


def help_text(language: str) -> str:
    """What to do with this agent."""
    return say(language, "help", things=price_list(language))


def price_list(language: str) -> str:
    """What can be made, in which formats, at which price."""
    lines = []
    for found in catalogue.makers():
        extra = catalogue.missing_extra(found)
        name = say(language, f"things.{found.thing.value}")
        price = say(language, "free")
        if found.credits:
            key = "credit" if found.credits == 1 else "credits"
            price = say(language, key, count=f"{found.credits:g}")
        line = say(language, "thing_line", name=name, formats=", ".join(found.formats), price=price)
        lines.append(f'{line} (`pip install "agentpost[{extra}]"`)' if extra else line)
    return "\n".join(lines)
