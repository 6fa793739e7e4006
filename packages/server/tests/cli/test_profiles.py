"""login, logout and profiles, and which server a command calls."""

import json
import pwd
import stat
from pathlib import Path

import pytest

from agentpost.cli import profiles
from agentpost.cli.connection import resolve
from tests.cli.scripted import Server, run, server
from tests.client.scripted import KEY
from tests.servers import free_port

__all__ = ["server"]
ACCOUNT = {"user_id": "usr_1", "name": "Ann", "email": "a@b.c", "credits": 9}


@pytest.fixture
def alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that no variable names."""
    monkeypatch.delenv("AGENTPOST_URL")
    monkeypatch.delenv("AGENTPOST_KEY")
    server.on("GET /v1/me", ACCOUNT)
    return server


def log_in(server: Server, *more: str) -> str:
    result = run("login", "--url", f"{server.url}/v1", "--key-stdin", *more, stdin=f"{KEY}\n")
    assert result.exit_code == 0, result.output
    assert KEY not in result.output
    return result.stdout


def test_login_keeps_what_the_server_takes(alone: Server) -> None:
    text = log_in(alone)
    assert text == f"✓ {alone.url} as Ann <a@b.c>, credits: 9 (profile default)\n"
    file = profiles.path()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [p.name for p in file.parent.iterdir()] == ["config.toml"]
    assert "account: Ann <a@b.c>" in run("me").stdout
    assert alone.asked[-1][1] == f"Bearer {KEY}"


def test_login_refused_keeps_nothing(server: Server) -> None:
    server.on("GET /v1/me", {"error": "unauthorized", "message": "No."}, status=401)
    result = run("login", "--url", server.url, "--key-stdin", "--profile", "w", stdin=KEY)
    assert result.exit_code == 7
    assert "the key of the profile 'w' is unknown" in result.stderr
    assert not profiles.path().exists()


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without HOME and without an entry in the list of users, as in containers."""

    def no_entry(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", no_entry)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize("command", [["me"], ["send", "hi"], ["profiles", "list"], ["listen"]])
def test_a_user_without_a_home_is_told_what_to_set(alone: Server, command: list[str]) -> None:
    result = run(*command)
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == (1 if command[0] == "profiles" else 7)
    [line] = result.stderr.splitlines()
    assert "no home folder: set HOME, or XDG_CONFIG_HOME" in line
    assert "AGENTPOST_URL and AGENTPOST_KEY" in line
    assert alone.asked == []


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home_needs_none_for_what_variables_name(server: Server) -> None:
    server.on("GET /v1/me", ACCOUNT)
    assert run("me").exit_code == 0
    result = run("listen", "--print-secret")
    assert (result.exit_code, "set HOME, or XDG_CONFIG_HOME" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["login"], "pass the address and --key-stdin"),
        (["login", "--key-stdin"], "pass the address"),
        (["login", "--profile", "a b", "--url", "x", "--key-stdin"], "the name of a profile"),
        (["login", "--key", "svc_key_x"], "No such option: --key"),
        (["login", "a:1", "--url", "b:1", "--key-stdin"], "two addresses: a:1 and b:1"),
        (["login", "ftp://a", "--key-stdin"], "'ftp://a' is not the address of a server"),
        (["login", "http://a b", "--key-stdin"], "such as http://127.0.0.1:8080"),
    ],
)
def test_login_called_wrongly(arguments: list[str], text: str) -> None:
    result = run(*arguments, stdin="k")
    assert result.exit_code == 2
    assert text in result.stderr


def test_login_takes_an_address_without_a_scheme(alone: Server) -> None:
    address = alone.url.removeprefix("http://")
    result = run("login", address, "--key-stdin", stdin=KEY)
    assert result.exit_code == 0, result.output
    assert profiles.load().by_name["default"].url == alone.url
    assert [key for _, key, _ in alone.asked] == ["Bearer none", f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("", b"<html>", 404, "is not an agentpost server (it answered 404)"),
        ("", {"hello": 1}, 200, "is not an agentpost server (its answer is not one of this API)"),
        ("/dashboard", {"error": "not_found", "message": "No."}, 404, "without its path"),
    ],
)
def test_a_key_is_not_sent_to_what_is_no_agentpost(
    alone: Server, path: str, body: object, status: int, text: str
) -> None:
    alone.forget()
    alone.on(f"GET {path}/v1/me", body, status=status)
    result = run("login", f"{alone.url}{path}", "--key-stdin", stdin=KEY)
    assert result.exit_code == 2
    assert text in result.stderr
    assert {key for _, key, _ in alone.asked} == {"Bearer none"}
    assert not profiles.path().exists()


def test_an_address_that_speaks_otherwise_is_named(alone: Server) -> None:
    result = run("login", alone.url.replace("http:", "https:"), "--key-stdin", stdin=KEY)
    assert result.exit_code == 7
    assert f"does not speak TLS there: try {alone.url}" in result.stderr
    result = run("login", f"127.0.0.1:{free_port()}", "--key-stdin", stdin=KEY)
    assert result.exit_code == 7
    assert "is the server running?" in result.stderr


def test_profiles_are_listed_used_and_removed(alone: Server) -> None:
    log_in(alone)
    log_in(alone, "--profile", "work.2")
    assert json.loads(run("profiles", "list", "--json").stdout)["data"] == [
        {"name": "default", "url": alone.url, "active": False},
        {"name": "work.2", "url": alone.url, "active": True},
    ]
    assert KEY not in run("profiles", "list").output
    assert run("profiles", "use", "default").stdout == f"✓ using default: {alone.url}\n"
    assert run("profiles", "use", "none").exit_code == 2
    result = run("logout")
    assert result.stdout == "✓ profile default is removed\n"
    assert "agentpost profiles use work.2" in result.stderr
    assert run("me").exit_code == 7
    assert run("me", "--profile", "work.2").exit_code == 0
    assert run("logout", "--profile", "default").exit_code == 2


def test_what_names_the_server_comes_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = profiles.Profiles()
    for name in ("option", "variable", "active"):
        stored = stored.with_profile(name, profiles.Profile(f"http://{name}", f"k-{name}"))
    profiles.save(stored)
    monkeypatch.setenv("AGENTPOST_PROFILE", "variable")
    monkeypatch.setenv("AGENTPOST_URL", "http://env")
    monkeypatch.setenv("AGENTPOST_KEY", "k-env")
    found = [resolve("option"), resolve()]
    monkeypatch.delenv("AGENTPOST_URL")
    monkeypatch.delenv("AGENTPOST_KEY")
    found.append(resolve())
    monkeypatch.delenv("AGENTPOST_PROFILE")
    found.append(resolve())
    assert [(each.url, each.key, each.profile) for each in found] == [
        ("http://option", "k-option", "option"),
        ("http://env", "k-env", None),
        ("http://variable", "k-variable", "variable"),
        ("http://active", "k-active", "active"),
    ]
    assert "k-option" not in repr(found)


def test_a_key_is_not_sent_to_another_address(
    alone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile's key is not for the address of the variable."""
    log_in(alone)
    monkeypatch.setenv("AGENTPOST_URL", alone.url)
    result = run("me")
    assert result.exit_code == 7
    assert "set AGENTPOST_KEY" in result.stderr


def test_without_a_server_it_says_how_to_get_one(
    alone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run("me")
    assert (result.exit_code, result.stdout) == (7, "")
    assert "run `agentpost login`" in result.stderr
    assert "agentpost login --profile w" in run("me", "--profile", "w").stderr
    monkeypatch.setenv("AGENTPOST_PROFILE", "nobody")
    assert run("me").exit_code == 7


def test_a_broken_file_is_one_line(alone: Server) -> None:
    profiles.path().parent.mkdir(parents=True)
    profiles.path().write_text('[profiles]\ndefault = "x"\n')
    result = run("me")
    assert result.exit_code == 7
    assert len(result.stderr.splitlines()) == 1
    assert "is not a file of profiles" in result.stderr
    assert profiles.path().read_text() == '[profiles]\ndefault = "x"\n'


def test_a_link_to_the_file_stays_a_link(alone: Server, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    profiles.path().parent.mkdir(parents=True)
    profiles.path().symlink_to(kept)
    log_in(alone)
    assert profiles.path().is_symlink()
    assert profiles.load().active == "default"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
