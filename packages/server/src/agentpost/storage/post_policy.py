"""Forms that allow one file to be posted, by the rules of S3's POST policies.

A form's fields carry a policy, a signed text that says until when it holds, which value each field
must have and how large the file may be. So the target needs no session and no database: it believes
what it signed, and reads no policies but its own. Which wrong is answered how follows S3 (its API
reference, "POST Object").
"""

import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentpost.domain.times import SECOND, iso

KEY_PREFIX = "uploads/"
# Fields that no condition needs to name; `x-ignore-…` ones neither.
_UNNAMED = frozenset({"policy", "signature", "file"})
_IGNORED = "x-ignore-"


class PostRefused(Exception):
    """A post is refused: status and code of S3, and a text for people."""

    def __init__(self, status: int, code: str, message: str, **details: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of an accepted form: a file of that many bytes for that upload."""

    upload_id: str
    least_bytes: int
    most_bytes: int

    def check_size(self, size: int) -> None:
        """Raises `PostRefused` for a file of another size."""
        if size > self.most_bytes:
            raise too_large(size, self.most_bytes)
        if size < self.least_bytes:
            raise PostRefused(
                400,
                "EntityTooSmall",
                "Your proposed upload is smaller than the minimum allowed size",
                ProposedSize=str(size),
                MinSizeAllowed=str(self.least_bytes),
            )


class PolicySigner:
    """Makes the fields of forms and judges posted ones; forms that one of the earlier secrets
    ``before`` has signed count, too."""

    def __init__(self, secret: bytes, before: Sequence[bytes] = ()) -> None:
        self._keys = [
            hmac.digest(each, b"agentpost upload policy", "sha256") for each in (secret, *before)
        ]

    def fields(
        self, upload_id: str, content_type: str, max_bytes: int, expires_at: int
    ) -> dict[str, str]:
        """The fields for a file of 1 to ``max_bytes`` bytes until ``expires_at`` (microseconds).

        The declared size is the upper end and not the only one allowed: the spec calls it the size
        the upload is *capped* at and gives complete no error for less, but the real size to report.
        An upload of nothing cannot be declared, so it cannot be posted either.
        """
        key = KEY_PREFIX + upload_id
        policy = {
            "expiration": iso(expires_at),
            "conditions": [
                {"key": key},
                {"Content-Type": content_type},
                ["content-length-range", 1, max_bytes],
            ],
        }
        text = base64.b64encode(json.dumps(policy).encode()).decode()
        return {
            "key": key,
            "Content-Type": content_type,
            "policy": text,
            "signature": _signature(self._keys[0], text),
        }

    def check(self, fields: Mapping[str, str], now: int) -> Allowance:
        """The limits of a posted form; ``fields`` are those before the file, by lower-case name.
        Raises `PostRefused`."""
        if not fields.get("key"):
            raise PostRefused(
                400, "InvalidArgument", "Bucket POST must contain a field named 'key'."
            )
        if "policy" not in fields:
            raise PostRefused(403, "AccessDenied", "Access Denied")
        signature = fields.get("signature")
        if signature is None:
            raise PostRefused(
                400, "InvalidArgument", "Bucket POST must contain a field named 'signature'."
            )
        encoded = signature.encode(errors="replace")
        expected = (_signature(key, fields["policy"]).encode() for key in self._keys)
        if not any(hmac.compare_digest(each, encoded) for each in expected):
            raise PostRefused(
                403,
                "SignatureDoesNotMatch",
                "The signature does not match the policy; send the fields unchanged.",
            )
        least, most = _check_policy(fields, now)
        return Allowance(fields["key"].removeprefix(KEY_PREFIX), least, most)


def _signature(key: bytes, text: str) -> str:
    return hmac.digest(key, text.encode(errors="replace"), "sha256").hex()


def too_large(size: int, most: int) -> PostRefused:
    """The file is over what is allowed, in bytes."""
    return PostRefused(
        400,
        "EntityTooLarge",
        "Your proposed upload exceeds the maximum allowed size",
        ProposedSize=str(size),
        MaxSizeAllowed=str(most),
    )


def _check_policy(fields: Mapping[str, str], now: int) -> tuple[int, int]:
    """The size range of a policy of ours that holds for these fields."""
    policy = json.loads(base64.b64decode(fields["policy"]))
    if round(datetime.fromisoformat(policy["expiration"]).timestamp() * SECOND) <= now:
        raise _failure("Policy expired.")
    *equalities, (_, least, most) = policy["conditions"]
    values = {name: value for each in equalities for name, value in each.items()}
    for name, value in values.items():
        if fields.get(name.lower()) != value:
            text = json.dumps(["eq", f"${name}", value])
            raise _failure(f"Policy Condition failed: {text}")
    names = _UNNAMED | {name.lower() for name in values}
    extra = sorted(f for f in fields if f not in names and not f.startswith(_IGNORED))
    if extra:
        raise _failure(f"Extra input fields: {', '.join(extra)}")
    return least, most


def _failure(what: str) -> PostRefused:
    return PostRefused(403, "AccessDenied", f"Invalid according to Policy: {what}")
