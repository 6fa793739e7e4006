"""Every command tells what is wrong in one line of one shape, and answers -h."""

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.scripted import run
from tests.cli.test_examples import commands
from tests.servers import empty_sqlite


def test_help_has_a_short_name() -> None:
    for words, _ in commands():
        short, long = run(*words, "-h"), run(*words, "--help")
        assert (short.exit_code, short.stderr) == (0, ""), words
        assert short.stdout == long.stdout, words
        assert short.stdout.startswith(" ".join(("Usage: agentpost", *words)))


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("zzz",), "No such command 'zzz'. See: agentpost --help"),
        (("keys", "lst"), "No such command 'lst'. Did you mean 'list'? See: agentpost keys --help"),
        (("serve", "--zzzz"), "No such option: --zzzz. See: agentpost serve --help"),
        (("keys", "create"), "Missing option '--account'. See: agentpost keys create --help"),
        (("send",), "Invalid value: a message or --file is needed. See: agentpost send --help"),
        (
            ("keys", "create", "--account", "a", "--name", "b", "--expires", "soon"),
            "--expires takes a number with s, m, h or d, such as 30d",
        ),
        (("credits", "add", "a", "5", "--nope"), None),
        (("credits", "add", "a", "-x"), None),
        (("verify", "--only", "all"), None),
    ],
)
def test_a_wrong_call_is_one_line(arguments: tuple[str, ...], reported: str | None) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("agentpost: ")
    assert reported is None or line == f"agentpost: {reported}"


def test_a_refusal_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    result = run("keys", "revoke", "key_none")
    assert (result.exit_code, result.stdout) == (1, "")
    database, line = result.stderr.splitlines()
    assert database == f"agentpost: database: {tmp_path}"
    assert re.fullmatch(r"agentpost: .+", line)


def test_a_group_without_a_command_shows_its_help() -> None:
    result = run("keys")
    assert result.exit_code == 2
    assert "revoke" in result.stderr
