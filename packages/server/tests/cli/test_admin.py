"""The operator's commands on accounts, keys and credits, as people read them."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentpost.cli import app
from agentpost.secrets.actions import NAME
from agentpost.secrets.encryption import SecretCipher
from tests.servers import empty_sqlite

EMAIL = "team@example.com"


@pytest.fixture(autouse=True)
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder with one account that has 30 credits."""
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    run("accounts", "create", "--email", EMAIL, "--name", "Team", "--credits", "30")


def run(*arguments: str, code: int = 0) -> str:
    """What the command prints, or says when it refuses, after it has named the database."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stderr.partition("\n")[2] if code else result.stdout


@pytest.mark.parametrize("amount", [("-25",), ("--", "-25"), ("-25.0", "--note", "by mistake")])
def test_credits_can_be_taken_back(amount: tuple[str, ...]) -> None:
    assert run("credits", "add", EMAIL, *amount) == f"{EMAIL}: 5 credits\n"
    shown = json.loads(run("credits", "show", EMAIL, "--json"))
    (taken,) = [move for move in shown["ledger"] if move["amount"] < 0]
    assert (taken["kind"], taken["amount"]) == ("grant", -25.0)
    assert taken["note"] == ("by mistake" if "--note" in amount else "added by command")
    assert (shown["credits"], shown["held"]) == (5.0, 0.0)
    assert run("credits", "add", EMAIL, "-4") == f"{EMAIL}: 1 credit\n"


@pytest.mark.parametrize(
    ("amount", "reported"),
    [
        ("-30.5", "only 30 credits are available to be removed"),
        ("0", "credits to add must be more than zero, credits to remove less"),
        ("nan", "credits must be zero or more, not nan"),
    ],
)
def test_credits_that_are_not_there_are_not_taken(amount: str, reported: str) -> None:
    assert run("credits", "add", EMAIL, amount, code=1) == f"agentpost: {reported}\n"
    assert run("credits", "show", EMAIL).splitlines()[0] == f"{EMAIL}: 30 credits"


def test_tables_have_headings() -> None:
    run("keys", "create", "--account", EMAIL, "--name", "ci", "--expires", "30d")
    accounts, keys = run("accounts", "list").splitlines(), run("keys", "list").splitlines()
    moves = run("credits", "show", EMAIL).splitlines()
    assert accounts[0].split() == ["ID", "EMAIL", "NAME", "CREDITS"]
    assert " ".join(keys[0].split()) == (
        "ID NAME HINT SCOPES EXPIRES AT REVOKED AT LAST USED AT ALLOW IPS ACCOUNT ID"
    )
    assert moves[1].split() == ["AT", "KIND", "AMOUNT", "JOB", "ID", "NOTE"]
    for heading, row in ((accounts[0], accounts[1]), (keys[0], keys[1])):
        named = dict(zip(heading.split("\t"), row.split("\t"), strict=True))
        assert named["NAME"] == ("Team" if "Team" in row else "ci")
        assert named.get("SCOPES") in (None, "send,read,admin")


def test_a_failing_webhook_endpoint_is_a_warning_of_the_doctor(tmp_path: Path) -> None:
    assert run("doctor") == "No problems found.\n"
    endpoint_id = "end_" + "1" * 32
    with closing(sqlite3.connect(tmp_path / "agentpost.db")) as db:
        (key,) = db.execute("SELECT value FROM meta WHERE name = ?", (NAME,)).fetchone()
        db.execute(
            "INSERT INTO endpoints (id, account_id, url, events_json, secret, created_at,"
            " disabled_at, failing_since)"
            " SELECT ?, id, 'https://shop.example.com/key', '[]', ?, 1, 1, 1 FROM accounts",
            (endpoint_id, SecretCipher([key.encode()]).encrypt(endpoint_id, "whsec_1")),
        )
        db.commit()
    lines = run("doctor").splitlines()
    assert lines[0] == "The server has no problems."
    assert lines[2] == "Warnings:"
    assert "does not accept deliveries" in lines[-1]
    assert "/key" not in lines[-1]
    answer = json.loads(run("doctor", "--json"))
    assert (answer["ok"], answer["findings"]) == (True, [])
    (warning,) = answer["warnings"]
    assert (warning["id"], warning["state"]) == (endpoint_id, "disabled")
