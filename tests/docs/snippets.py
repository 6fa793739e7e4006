"""The blocks of the documents: programs, commands, and what is only shown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.house.tree import document

FENCED = re.compile(
    r"^(?P<indent> *)```(?P<kind>[a-z]*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
NAMED = re.compile(r"# ([a-z_]+\.(?:py|toml))\n")
PROMPT = "$ "


@dataclass(frozen=True)
class Command:
    """What stands behind a prompt, lines that go on included, and the output shown below it."""

    text: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A fenced block: a file with a name, commands, or neither."""

    kind: str
    text: str

    @property
    def file(self) -> str | None:
        """The name in its first line, if that is a comment with one."""
        named = NAMED.match(self.text)
        return named[1] if named and self.kind in ("python", "toml") else None

    @property
    def commands(self) -> list[Command]:
        """What a reader pastes, in order."""
        found: list[Command] = []
        lines = iter(self.text.splitlines() if self.kind == "" else [])
        for line in lines:
            if line.startswith(PROMPT):
                text = line.removeprefix(PROMPT)
                while text.endswith("\\"):
                    text += "\n" + next(lines)
                found.append(Command(text, ()))
            elif found:
                found[-1] = Command(found[-1].text, (*found[-1].shown, line))
        return found


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of the page, in order."""
    for match in FENCED.finditer(document(page)):
        yield Block(match["kind"], dedent(match["text"]))


def programs(page: Path) -> dict[str, str]:
    """File name -> text of each program on the page."""
    return {
        b.file: b.text.partition("\n")[2] for b in blocks(page) if b.file and b.kind == "python"
    }


def write_programs(page: Path, folder: Path) -> None:
    """Put them into a folder, as a reader would."""
    found = programs(page)
    assert found, f"{page.name} shows no program"
    for name, text in found.items():
        (folder / name).write_text(text, "utf-8")
