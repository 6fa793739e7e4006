"""The agents of the pages for authors and of `examples/` do what the pages say, on a server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentpost_client import Client, Message
from tests.author_tests import run_tests
from tests.docs.snippets import write_programs
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import DOCS

PAGES = ("agents.md", "agents-reference.md", "agents-testing.md")
SECONDS_MAX = 90.0


@contextmanager
def serving(home: Path, agent: str) -> Iterator[Client]:
    """A server with that agent, whose module is looked for in ``home``."""
    with AgentServer(home, agent=agent).start() as server, Client(server.url, KEY) as client:
        yield client


def write_pages(folder: Path) -> None:
    for page in PAGES:
        write_programs(DOCS / page, folder)


def wait_for(client: Client, message: Message) -> Message:
    return client.wait(message.id, timeout=SECONDS_MAX)


def test_the_ten_line_agent(tmp_path: Path) -> None:
    write_pages(tmp_path)
    with serving(tmp_path, "hello:agent") as client:
        done = wait_for(client, client.send("to be or not to be"))
        results = [entry.text for entry in client.follow(done.id) if entry.type == "result"]
        path = client.download(done.files[0], tmp_path)
    assert (done.status, done.reply) == ("completed", "I am counting.")
    assert results == ["6 words, 4 different ones."]
    assert (path.name, path.stat().st_size) == ("words.txt", 12)


def test_the_agent_that_uses_an_earlier_file(tmp_path: Path) -> None:
    write_pages(tmp_path)
    (tmp_path / "sales.csv").write_text("month,revenue\nJan,120\nFeb,135\n")
    with serving(tmp_path, "columns:agent") as client:
        without = client.send("Add this up", conversation="eve")
        asked = client.send("This", files=[tmp_path / "sales.csv"], conversation="eve")
        done = wait_for(client, client.send(answer_to=asked.id, answer="revenue"))
        failed = client.send("The other column", conversation="eve")
        failed = wait_for(client, client.send(answer_to=failed.id, answer="month"))
        other = client.send("Add this up", conversation="bob")
    assert without.question == other.question == "Please attach a CSV file."
    assert asked.answer_format is not None
    assert asked.answer_format.choices == ("month", "revenue")
    assert done.text == "revenue: 255"
    assert failed.reason == "execution_failed"


def test_the_agent_with_an_order(tmp_path: Path) -> None:
    write_pages(tmp_path)
    (tmp_path / "order.json").write_text(json.dumps(["a", "b"]))
    (tmp_path / "broken.json").write_text("{")
    with serving(tmp_path, "orders:agent") as client:
        asked = client.send("Please order")
        done = wait_for(client, client.send("This", files=[tmp_path / "order.json"]))
        receipt = client.download(done.files[0], tmp_path)
        failed = wait_for(client, client.send("This", files=[tmp_path / "broken.json"]))
    assert (asked.status, asked.question) == ("needs_input", "Please attach the order.")
    assert (done.status, done.credits_used) == ("completed", 2.5)
    assert receipt.read_text().endswith(": 2 lines\n")
    assert (failed.status, failed.reason) == ("failed", "execution_failed")


def test_the_agent_with_typed_questions(tmp_path: Path) -> None:
    write_pages(tmp_path)
    schema = {"properties": {"price": {"type": "string"}}, "required": ["price"]}
    with serving(tmp_path, "parcels:agent") as client:
        asked = client.send("A parcel to Rome")
        answer = {"kilograms": 1.5}
        done = wait_for(
            client, client.send(answer_to=asked.id, answer=answer, response_schema=schema)
        )
    assert asked.answer_format is not None
    assert asked.answer_format.schema["required"] == ["kilograms"]
    assert (done.status, done.output, done.reply) == ("completed", {"price": "8.00"}, "8.00 euros.")


def test_the_test_of_an_agent(tmp_path: Path) -> None:
    write_pages(tmp_path)
    assert run_tests(tmp_path, "test_hello") == 3


def test_the_example(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("month,revenue\nJan,120\nFeb,135\n")
    (tmp_path / "empty.csv").write_text("month\n")
    with serving(tmp_path, "examples.csv_agent:agent") as client:
        asked = client.send("What is in it?")
        done = wait_for(client, client.send("This", files=[tmp_path / "sales.csv"]))
        made = client.download(done.files[0], tmp_path)
        again = wait_for(client, client.send("Once more"))  # it looks back for the file
        failed = wait_for(client, client.send("This", files=[tmp_path / "empty.csv"]))
    assert asked.status == "needs_input"
    assert (done.status, done.credits_used) == ("completed", 0.2)
    assert made.read_text() == "name,filled,kind\nmonth,2,text\nrevenue,2,numbers\n"
    assert again.jobs[0].title == "Columns of sales.csv"
    assert failed.reason == "execution_failed"
