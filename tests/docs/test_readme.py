"""`README.md` is read in its order, from a fresh folder, and everything in it happens."""

import json
from pathlib import Path

from tests.docs.reader import Reader, taken
from tests.docs.snippets import Command, programs
from tests.house.tree import DOCS, ROOT

README = ROOT / "README.md"
APART = {"git clone": "the reader's folder looks like a fresh clone of this tree"}


def printed_call(reported: str) -> str:
    """The curl that the server prints."""
    return "  curl " + reported.partition("  curl ")[2].partition("\n\n")[0]


def test_it_happens_as_it_is_written(tmp_path: Path) -> None:
    with Reader(tmp_path, ("8080", "8081")) as reader:
        for command in reader.read(README, APART):
            reader.run(command)
            if command.text == "make serve":
                assert f"{reader.ports['8080']}   (agent: offline)" in reader.output
                answer = json.loads(reader.paste(printed_call(reader.output)))
                assert (answer["status"], answer["final"]) == ("processing", False)
                reader.ids["msg"] = answer["id"]
            if command.text.startswith("curl"):
                file, *_ = json.loads(reader.output)["files"]
                assert reader.paste(f"curl -s '{file['url']}' | head -c 4 | tail -c 3") == "PNG"
            if command.text == "python integration.py":
                again = Command("python integration.py", command.shown)
                reader.run(again)
                reader.check(again)
        assert (reader.folder / "out" / "sales-chart.png").read_bytes().startswith(b"\x89PNG")
        assert (reader.folder / "sales-report.pdf").read_bytes().startswith(b"%PDF")
        assert (reader.folder / "sales-chart.png").is_file()


def test_a_taken_port_is_said_and_another_one_does(tmp_path: Path) -> None:
    """As the page advises: with ARGS="--port 9000"; what is printed then is for that port."""
    advice = 'make serve ARGS="--port 9000"'
    assert advice in README.read_text("utf-8")
    with Reader(tmp_path, ("8080", "9000")) as reader, taken(reader.ports["8080"]):
        refused = reader.run(Command("make serve", ()), code=2)
        said = f"agentpost: cannot listen on 127.0.0.1:{reader.ports['8080']}"
        (line,) = (each for each in refused.splitlines() if each.startswith(said))
        assert line.endswith("Is another server running there? Choose another with --port.")
        assert "Traceback" not in refused
        reported = reader.run(Command(advice, ()))
        assert f"curl -s http://127.0.0.1:{reader.ports['9000']}/v1/messages" in reported
        answer = json.loads(reader.paste(printed_call(reported)))
        assert answer["status"] == "processing"


def test_the_first_agent_is_the_one_that_is_explained() -> None:
    """`docs/agents.md` runs it in a test of its own."""
    assert programs(README)["hello.py"] == programs(DOCS / "agents.md")["hello.py"]
