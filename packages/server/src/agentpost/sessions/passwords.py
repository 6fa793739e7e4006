"""What a password has to be, and hashing it with Argon2, off the event loop and a few at a time.

A hash takes a good part of a tenth of a second and 19 MiB on purpose. So the work is bounded: what
comes when too much waits already is refused, whoever sends it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from agentpost.daemon_threads import DaemonThreadExecutor
from agentpost.domain.errors import Overloaded
from agentpost.domain.limits import PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN

if TYPE_CHECKING:
    from argon2 import PasswordHasher

P = ParamSpec("P")
T = TypeVar("T")
_TIME_COST: Final = 2
_MEMORY_KIB: Final = 19_456
_PARALLELISM: Final = 1
"""Who changes one of these changes the hash of whoever signs in from then on."""
_THREADS: Final = 2
_WAITING_MAX: Final = 20
_RETRY_SECONDS: Final = 5
_NOBODYS: Final = "the password of nobody"


class Passwords:
    """Hashes and checks, for one event loop. ``hasher``: of argon2-cffi, by default with the
    parameters that OWASP names as the least."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher
        self._nobodys: str | None = None
        self._threads = DaemonThreadExecutor("passwords", _THREADS)
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """How a password is stored; raises `Overloaded`."""
        return await self._run_bounded(lambda: self._make_hasher().hash(_bytes(password)))

    async def check(self, stored_hash: str | None, password: str) -> str | None:
        """Compare with the hash that is kept; None does the same work and is never right. The hash
        to keep, another one when today's parameters are others; None: it is not the password.
        Raises `Overloaded`."""
        return await self._run_bounded(self._check, stored_hash, password)

    async def _run_bounded(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._waiting >= _WAITING_MAX:
            raise Overloaded("Many people are signing in right now.", _RETRY_SECONDS)
        self._waiting += 1
        try:
            return await self._threads.run(fn, *args, **kwargs)
        finally:
            self._waiting -= 1

    def _check(self, stored_hash: str | None, password: str) -> str | None:
        from argon2.exceptions import InvalidHashError, VerificationError

        hasher = self._make_hasher()
        if self._nobodys is None:
            self._nobodys = hasher.hash(_NOBODYS)
        try:
            hasher.verify(stored_hash or self._nobodys, _bytes(password))
        except (VerificationError, InvalidHashError):
            return None
        if not stored_hash:
            return None
        is_old = hasher.check_needs_rehash(stored_hash)
        return hasher.hash(_bytes(password)) if is_old else stored_hash

    def _make_hasher(self) -> PasswordHasher:
        if self._hasher is None:
            from argon2 import PasswordHasher

            self._hasher = PasswordHasher(_TIME_COST, _MEMORY_KIB, _PARALLELISM)
        return self._hasher


def _bytes(password: str) -> bytes:
    """The same bytes for what looks the same, on whatever keyboard it was typed."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


def check_password(password: str) -> str:
    """The password; raises `ValueError` saying what to change.

    Any characters count, spaces too. Rules about kinds of characters make passwords worse: people
    meet them with a capital at the start and a digit at the end.
    """
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise ValueError(f"a password has at least {PASSWORD_CHARACTERS_MIN} characters")
    if len(password.encode("utf-8", "surrogatepass")) > PASSWORD_BYTES_MAX:
        raise ValueError(f"a password has at most {PASSWORD_BYTES_MAX:,} bytes")
    return password
