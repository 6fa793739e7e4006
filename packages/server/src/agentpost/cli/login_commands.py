"""login, logout and profiles: which servers this person calls, and with which keys.

A key is read from the terminal without being shown, or from standard input; it is never an
argument, since those stay in the shell's history and in the list of processes.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from agentpost.cli import exits, profiles
from agentpost.cli.commands import command
from agentpost.cli.errors import fail
from agentpost.cli.options import ProfileName
from agentpost.cli.printing import Result, listing, screen

if TYPE_CHECKING:
    from agentpost.cli.connection import Server
    from agentpost_client import Account, AgentpostError

EXAMPLE: Final = "http://127.0.0.1:8080"
_NO_KEY: Final = "none"
"""Sent instead of a key. A server of this API refuses it in the API's own words."""
_RETRIES: Final = 1
_LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "::1")


@command(
    "login",
    "agentpost login",
    "agentpost login https://agents.example.com --profile work",
    "agentpost login http://127.0.0.1:8080 --key-stdin < key.txt",
)
def login(
    address: Annotated[
        str | None, typer.Argument(help="Address of the server; asked for when not given.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Same as ADDRESS.")] = None,
    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read the key from standard input.")
    ] = False,
    profile: ProfileName = None,
) -> Result:
    """Store the address and key of a server and use it.

    Both are checked and then stored in ~/.config/agentpost/config.toml, readable only by you.
    """
    name = _check_name(profile or os.environ.get(profiles.VARIABLE) or profiles.DEFAULT)
    all_profiles = _load()
    entry = all_profiles.by_name.get(name)
    is_terminal = sys.stdin.isatty()
    if address and url and address != url:
        fail(f"two addresses: {address} and {url}", exits.USAGE)
    address = address or url
    if not (is_terminal or (address and key_stdin)):
        fail("no terminal to ask on: pass the address and --key-stdin", exits.USAGE)
    if address is None:
        if key_stdin:
            fail("--key-stdin needs the address as well", exits.USAGE)
        default = entry.url if entry else EXAMPLE
        address = typer.prompt("Server address", default=default, err=True)
    base_url = reach(address.strip())
    key = sys.stdin.read() if key_stdin else typer.prompt("API key", hide_input=True, err=True)
    server, account = _try_key(base_url, key.strip(), name)
    _save(all_profiles.with_profile(name, profiles.Profile(server.url, server.key)))
    who = f"{account.name} <{account.email}>" if account.email else account.name
    line = f"✓ {server.url} as {who}, credits: {account.credits:g} (profile {name})"
    notes = []
    if server.url.startswith("http://") and urlsplit(server.url).hostname not in _LOCAL_HOSTS:
        notes.append("this address is not encrypted: the network can read the key")
    if os.environ.get("AGENTPOST_URL"):
        notes.append("AGENTPOST_URL is set and overrides the profile: unset it to use the profile")
    record = {"profile": name, "url": server.url, "account": account.raw}
    return Result(record, lambda: screen().line(line), notes=notes)


@command("logout", "agentpost logout", "agentpost logout --profile work")
def logout(profile: ProfileName = None) -> Result:
    """Delete the stored address and key of a server. The key stays valid."""
    all_profiles = _load()
    name = profile or os.environ.get(profiles.VARIABLE) or all_profiles.active
    if name not in all_profiles.by_name:
        text = f"there is no profile {name!r}" if name else "there is no profile in use"
        fail(text, exits.USAGE if profile else exits.FAILED)
    _save(all_profiles.without(name))
    others = [other for other in all_profiles.by_name if other != name]
    notes = []
    if others and all_profiles.active == name:
        notes.append(f"no profile is selected: agentpost profiles use {others[0]}")
    record = {"profile": name, "removed": True}
    return Result(record, f"✓ profile {name} is removed", notes=notes)


@command("profiles list", "agentpost profiles list")
def profiles_list() -> Result:
    """List the profiles; their keys are not shown."""
    all_profiles = _load()
    rows = [
        {"name": name, "url": profile.url, "active": name == all_profiles.active}
        for name, profile in sorted(all_profiles.by_name.items())
    ]
    status = {"status": lambda row: "active" if row["active"] else ""}
    empty = "no profile yet: agentpost login adds one"
    return listing(rows, ("name", "url", "status=@status"), empty=empty, compute=status)


@command("profiles use", "agentpost profiles use work")
def profiles_use(
    name: Annotated[str, typer.Argument(help="Name of the profile.")],
) -> Result:
    """Switch to another profile."""
    all_profiles = _load()
    if name not in all_profiles.by_name:
        text = f"there is no profile {name!r} → `agentpost login --profile {name}` adds it"
        fail(text, exits.USAGE)
    _save(profiles.Profiles(name, all_profiles.by_name))
    url = all_profiles.by_name[name].url
    return Result({"name": name, "url": url, "active": True}, f"✓ using {name}: {url}")


# --- parts ----------------------------------------------------------------------------------------
def _try_key(url: str, key: str, name: str) -> tuple[Server, Account]:
    """The server with its address as it is kept, and the key's account; ends the command if the
    server does not know the key."""
    from agentpost.cli.connection import Server, errors_told, say_retry
    from agentpost_client import Client
    from agentpost_client.config import resolve_config

    with errors_told(None, exits.USAGE):
        config = resolve_config(url, key, {})
    server = Server(config.url, config.key, name)
    with errors_told(server), Client(config.url, config.key, on_retry=say_retry) as client:
        return server, client.me()


def _check_name(name: str) -> str:
    try:
        return profiles.checked_name(name)
    except profiles.UnusableProfiles as problem:
        fail(str(problem), exits.USAGE)


def _load() -> profiles.Profiles:
    try:
        return profiles.load()
    except profiles.UnusableProfiles as problem:
        fail(str(problem))


def _save(all_profiles: profiles.Profiles) -> None:
    try:
        profiles.save(all_profiles)
    except OSError as error:
        fail(f"{profiles.path()} cannot be written: {error.strerror}")


def reach(address: str) -> str:
    """The address as it is kept, with its scheme; ends the command unless a server of this API
    answers there. Nobody's key is sent."""
    from agentpost.cli.connection import say_retry
    from agentpost_client import AgentpostError, ApiError, BadAnswer, Client, ConfigError
    from agentpost_client.config import resolve_config

    full = address if "://" in address else f"http://{address}"
    try:
        url = resolve_config(full, _NO_KEY, {}).url
    except ConfigError:
        text = "is not the address of a server: give http:// or https://, a host and a port"
        fail(f"{address!r} {text}, such as {EXAMPLE}", exits.USAGE)
    try:
        with Client(url, _NO_KEY, max_retries=_RETRIES, on_retry=say_retry) as client:
            client.me()
    except ApiError as error:
        if not error.code.startswith("http_") and error.code != "not_found":
            return url
        fail(_no_agentpost(url, f"it answered {error.status}"), exits.USAGE)
    except BadAnswer:
        fail(_no_agentpost(url, "its answer is not one of this API"), exits.USAGE)
    except AgentpostError as error:
        fail(_away(url, error), exits.NO_ANSWER)
    return url


def _away(url: str, error: AgentpostError) -> str:
    from agentpost_client import ConfigError, ConnectionFailed, RequestTimeout

    text = str(error).rstrip(".")
    if isinstance(error, ConfigError):
        return text  # a proxy of the environment
    if isinstance(error, RequestTimeout) or not isinstance(error, ConnectionFailed):
        return f"{text} → is the address right, and may this machine reach it?"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            f"{text} → the certificate is not trusted here: use the name it is made for, or set"
            " SSL_CERT_FILE to the file of the authority that signed it"
        )
    if url.startswith("https:") and "SSL" in text:
        return f"{text} → the server does not speak TLS there: try http{url.removeprefix('https')}"
    if url.startswith("http:") and "cannot connect" not in text:
        return f"{text} → does the server speak TLS there? Then try https{url.removeprefix('http')}"
    return f"{text} → is the server running? `agentpost serve` starts one and prints its address"


def _no_agentpost(url: str, what: str) -> str:
    parts = urlsplit(url)
    if parts.path:
        hint = f"without its path {parts.path}: {parts.scheme}://{parts.netloc}"
        return f"{url} is not the address of an agentpost server ({what}) → try it {hint}"
    hint = "check host and port; `agentpost serve` prints its address when it is ready"
    return f"{url} is not an agentpost server ({what}) → {hint}"
