"""The recipes are read in their order, each in a fresh folder, and it all happens.

One server serves them all: starting one for each would cost a minute in all.
"""

import json
from collections.abc import Iterator, Mapping

import pytest

from tests.docs.reader import Reader
from tests.docs.snippets import Command
from tests.house.tree import DOCS

FOLDER = DOCS / "recipes"
SERVED_BY_ITSELF = {"webhooks.md"}
"""Its programs are tested in `test_webhook_programs.py`, its commands below."""
APART = {
    "agentpost listen --forward-to": "it runs until stopped; test_listen.py does it",
    "agentpost trigger": "nobody listens there; test_listen.py",
}
CODES: Mapping[str, int] = {
    'AGENTPOST_KEY=$EVE agentpost send "Chart revenue by month" --file sales.csv --no-wait --json'
    " > sent.json": 4
}
"""Commands that end otherwise than with 0, as the page says."""
PAGES = sorted(p.name for p in FOLDER.glob("*.md"))
READ = [name for name in PAGES if name not in SERVED_BY_ITSELF]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Somebody who has followed the first page and whose server runs."""
    with Reader(tmp_path_factory.mktemp("recipes"), ("8080", "8081")) as reader:
        reader.run(Command("source .venv/bin/activate", ()))
        reader.run(Command("AGENTPOST_EGRESS_ALLOW=127.0.0.0/8 agentpost serve", ()))
        yield reader


def test_the_commands_about_webhooks(reader: Reader) -> None:
    """The server may call this machine, as the page wants it. Nobody listens there."""
    reader.move_to("webhooks.md")
    reader.run(Command("source .venv/bin/activate", ()))
    shown = {}
    for command in reader.read(FOLDER / "webhooks.md", APART):
        shown[command.text] = reader.run(command)
    *_, tried, listed = shown.values()
    assert json.loads(tried)["object"] == "webhook_delivery"
    assert json.loads(listed)["data"][0]["event"] == "webhook.test"


@pytest.mark.parametrize("name", READ)
def test_it_happens_as_it_is_written(name: str, reader: Reader) -> None:
    first, key = len(reader.servers), reader.key
    reader.move_to(name)
    reader.run(Command("source .venv/bin/activate", ()))
    try:
        for command in reader.read(FOLDER / name, {}):
            reader.run(command, CODES.get(command.text, 0))
    finally:
        reader.end_servers(first)  # those of the page itself: the next page may use their port
        reader.key = key


def test_each_page_is_read_or_has_a_test_of_its_own() -> None:
    assert {*READ, *SERVED_BY_ITSELF} == set(PAGES)
