"""Secrets that the server has to use again are encrypted in the database (design: Secrets at rest).

XChaCha20-Poly1305 with a random nonce; the key is derived from a server secret by HKDF-SHA256. The
associated data names the row, so a value that was copied to another row does not decrypt there.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache

_FORMAT = "enc1"
_SALT = b"agentpost"
_KEY_LABEL = b"agentpost secrets at rest v1: key"
_ID_LABEL = b"agentpost secrets at rest v1: key id"
_KEY_BYTES = 32
_ID_BYTES = 4
_HASH_BYTES = 32
_CACHED_MAX = 10_000


class SecretUnreadable(Exception):
    """No key of this server decrypts the value; ``str()`` says so to the owner of the row."""

    def __init__(self) -> None:
        super().__init__(
            "the server cannot decrypt this endpoint's secret, its secret key was changed: rotate"
            " the endpoint's secret, or ask the operator for the earlier key"
        )


class SecretCipher:
    """Encrypts with the newest of the server's secrets, decrypts with all of them. Safe on any
    thread.

    Args:
        secrets: the one that encrypts, then the earlier ones.

    Attributes:
        current: the id of the key that encrypts.
        operations: how many times a value was really decrypted; repetitions come from memory.
    """

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._keys = {
            key_id(secret): hkdf(secret, _SALT, _KEY_LABEL, _KEY_BYTES)
            for secret in reversed(secrets)
        }
        self.current = key_id(secrets[0])
        self.operations = 0
        self._decrypted = lru_cache(maxsize=_CACHED_MAX)(self._decrypt)

    def encrypt(self, row_id: str, secret: str) -> str:
        """The secret as it is stored in that row: ``enc1:<key id>:<nonce and ciphertext>``."""
        from nacl.secret import Aead

        ciphertext = Aead(self._keys[self.current]).encrypt(secret.encode(), _bound(row_id))
        text = base64.urlsafe_b64encode(bytes(ciphertext)).decode()
        return f"{_FORMAT}:{self.current}:{text}"

    def decrypt(self, row_id: str, stored: str) -> str:
        """The secret. Raises `SecretUnreadable`."""
        return self._decrypted(row_id, stored)

    def signing_keys(self, row_id: str, stored: Sequence[str]) -> tuple[str, ...]:
        """The secrets to sign with: of the first, which has to be readable, and of the others that
        are. Raises `SecretUnreadable`."""
        keys = [self.decrypt(row_id, stored[0])]
        for each in stored[1:]:
            try:
                keys.append(self.decrypt(row_id, each))
            except SecretUnreadable:
                continue
        return tuple(keys)

    def is_current(self, stored: str) -> bool:
        """Is it encrypted with the newest secret? By its key id alone."""
        return stored.startswith(f"{_FORMAT}:{self.current}:")

    def knows_key(self, stored: str) -> bool:
        """Is it encrypted with a key that is known here? By its key id alone."""
        return is_encrypted(stored) and stored.split(":")[1] in self._keys

    def _decrypt(self, row_id: str, stored: str) -> str:
        from nacl.exceptions import CryptoError
        from nacl.secret import Aead

        _, _, rest = stored.partition(":")
        key_id, _, text = rest.partition(":")
        key = self._keys.get(key_id)
        if key is None:
            raise SecretUnreadable
        self.operations += 1
        try:
            return Aead(key).decrypt(base64.urlsafe_b64decode(text), _bound(row_id)).decode()
        except (CryptoError, ValueError):
            raise SecretUnreadable from None


def is_encrypted(stored: str) -> bool:
    """Whether the value has the form of an encrypted one."""
    return stored.startswith(f"{_FORMAT}:")


def hkdf(secret: bytes, salt: bytes, label: bytes, length: int) -> bytes:
    """HKDF with SHA-256 (RFC 5869): ``length`` bytes for one purpose, named by ``label``."""
    key = hmac.digest(salt, secret, hashlib.sha256)
    output = block = b""
    while len(output) < length:
        count = len(output) // _HASH_BYTES + 1
        block = hmac.digest(key, block + label + bytes([count]), hashlib.sha256)
        output += block
    return output[:length]


def key_id(secret: bytes) -> str:
    """What names a server secret where the secret itself must not stand."""
    return hkdf(secret, _SALT, _ID_LABEL, _ID_BYTES).hex()


def _bound(row_id: str) -> bytes:
    return f"endpoints.secret:{row_id}".encode()
