"""`README.md` is read in its order, from a fresh folder, and everything in it happens."""

import json
from pathlib import Path

import pytest

from tests.docs.reader import Reader, taken
from tests.docs.snippets import Command
from tests.house.tree import ROOT

README = ROOT / "README.md"
APART = {"git clone": "the reader's folder looks like a fresh clone of this tree"}


def printed_call(reported: str) -> str:
    return "  curl " + reported.partition("  curl ")[2].partition("\n\n")[0]


def test_it_happens_as_it_is_written(tmp_path: Path) -> None:
    with Reader(tmp_path, ("8080",)) as reader:
        for command in reader.read(README, APART):
            reader.run(command)
            if command.text == "make serve":
                assert f"{reader.ports['8080']}   (agent: offline)" in reader.output
                answer = json.loads(reader.paste(printed_call(reader.output)))
                assert (answer["status"], answer["final"]) == ("processing", False)
                reader.ids["msg"] = answer["id"]
            if command.text.startswith("curl"):
                finished = json.loads(reader.output)
                result = "Column chart “Jun has the highest revenue”: "
                assert [job["text"].startswith(result) for job in finished["jobs"]] == [True]
                file, *_ = finished["files"]
                assert reader.paste(f"curl -s '{file['url']}' | head -c 4 | tail -c 3") == "PNG"
            if command.text == "python integration.py":
                again = Command("python integration.py", command.shown)
                reader.run(again)
                reader.check(again)
        assert (reader.folder / "out" / "sales-chart.png").read_bytes().startswith(b"\x89PNG")
        assert (reader.folder / "sales-report.pdf").read_bytes().startswith(b"%PDF")


def test_a_taken_port_is_said_and_another_one_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page advises: `make serve` hands on the ARGS it was given, and none of `make test`."""
    advice = 'make serve ARGS="--port 9000"'
    assert advice in README.read_text("utf-8")
    monkeypatch.setenv("ARGS", "-k nothing")
    with Reader(tmp_path) as reader, taken(reader.ports["8080"]):
        assert "-k nothing" not in reader.paste("make -n serve")
        command = reader.paste(advice.replace("make", "make -n")).strip()
        assert command == "exec .venv/bin/agentpost serve --port 9000"
        reader.paste("source .venv/bin/activate")
        refusal = reader.run(Command("agentpost serve", ()), code=1)
        start = f"agentpost: cannot listen on 127.0.0.1:{reader.ports['8080']}"
        (line,) = (each for each in refusal.splitlines() if each.startswith(start))
        assert line.endswith("Is another server running there? Choose another with --port.")
        assert "Traceback" not in refusal
