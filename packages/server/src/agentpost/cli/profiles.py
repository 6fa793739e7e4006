"""Profiles: the servers a person calls, each with its address and key, in one file of theirs.

active = "default"

[profiles.default]
url = "http://127.0.0.1:8080"
key = "svc_key_…"
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentpost.cli import private_files

DEFAULT: Final = "default"
VARIABLE: Final = "AGENTPOST_PROFILE"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEAD: Final = "# Written by `agentpost login`; it holds API keys.\n"


class UnusableProfiles(ValueError):
    """The file cannot be read as profiles, or a name is none; the text says what to do."""


class NoSuchProfile(UnusableProfiles):
    """There is no profile of that name; the text says how to add it."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One server; the key never shows up in a ``repr``."""

    url: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Profiles:
    """All of them by name; ``active`` is used when none is named, empty when there is none."""

    active: str = ""
    by_name: Mapping[str, Profile] = field(default_factory=dict)

    def with_profile(self, name: str, profile: Profile) -> "Profiles":
        """The same with that profile, which is now the active one."""
        return Profiles(name, {**self.by_name, name: profile})

    def without(self, name: str) -> "Profiles":
        """The same without that profile; no other becomes active in its place."""
        left = {each: profile for each, profile in self.by_name.items() if each != name}
        return Profiles("" if self.active == name else self.active, left)


def path() -> Path:
    """The file with the profiles; raises `OSError` for a person without a home folder."""
    return private_files.config_folder() / "config.toml"


def load() -> Profiles:
    """The profiles in the file, none when it is not there; raises `UnusableProfiles`."""
    try:
        file = path()
    except OSError as error:
        text = f"{error}; or set AGENTPOST_URL and AGENTPOST_KEY, which need no profile"
        raise UnusableProfiles(text) from None
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
        tables = read.get("profiles", {})
        by_name = {name: _profile(value) for name, value in tables.items()}
        return Profiles(str(read.get("active", "")), by_name)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise UnusableProfiles(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        text = f"{file} is not a file of profiles: correct or delete it, then `agentpost login`"
        raise UnusableProfiles(text) from None


def save(profiles: Profiles) -> None:
    """Write them all, readable by their owner only; raises `OSError`."""
    lines = [_HEAD, f"active = {_quote(profiles.active)}\n"]
    for name, profile in sorted(profiles.by_name.items()):
        lines.append(f"\n[profiles.{_quote(name)}]\n")
        lines.append(f"url = {_quote(profile.url)}\nkey = {_quote(profile.key)}\n")
    private_files.write(path(), "".join(lines))


def checked_name(name: str) -> str:
    """The name; raises `UnusableProfiles` when a profile cannot have it."""
    if _NAME.fullmatch(name) is None:
        raise UnusableProfiles(
            "the name of a profile has up to 64 letters, digits, '.', '_' and '-'"
        )
    return name


def _profile(value: Any) -> Profile:
    url, key = value["url"], value["key"]
    if not (isinstance(url, str) and isinstance(key, str)):
        raise TypeError
    return Profile(url, key)


def _quote(text: str) -> str:
    """A TOML string; JSON escapes all that TOML wants escaped but DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
