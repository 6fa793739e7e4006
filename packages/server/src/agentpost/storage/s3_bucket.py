"""A bucket: its address as the settings give it, and how long it may take to answer."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from agentpost.storage.base import StorageRefused

ANSWER_SECONDS = 30.0
"""One that accepts connections and says nothing must not hold its callers for ever."""
BYTES_PER_SECOND_MIN = 128 * 1_024
_CREDENTIALS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_REGIONS = ("PermanentRedirect", "AuthorizationHeaderMalformed")
_REFUSALS = ("PermissionDeniedError", "UnauthenticatedError")
"""Errors of obstore: statuses 403 and 401."""
_METADATA_SERVICE = "http://169.254.169.254/"
"""Of the machine, which is asked for credentials when the environment has none."""
_OPTIONS = frozenset({"endpoint", "region", "virtual_hosted_style"})


@dataclass(frozen=True, slots=True)
class S3Location:
    """Where blobs are: ``prefix`` without outer slashes; "" stands for what is not given."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    virtual_hosted_style: bool | None

    @classmethod
    def parse(cls, url: str) -> "S3Location":
        """Read ``s3://bucket/prefix?endpoint=http://host:9000&region=eu-west-1``; raises
        `ValueError` for another kind of URL or unknown options."""
        parts = urlsplit(url)
        options = parse_qs(parts.query, strict_parsing=bool(parts.query))
        if parts.scheme != "s3" or not parts.hostname:
            raise ValueError("the storage URL is not of the form s3://bucket/prefix?endpoint=…")
        if others := options.keys() - _OPTIONS:
            raise ValueError(f"unknown option in the storage URL: {', '.join(sorted(others))}")
        style = options.get("virtual_hosted_style")
        return cls(
            bucket=parts.netloc,
            prefix=parts.path.strip("/"),
            endpoint=options.get("endpoint", [""])[0],
            region=options.get("region", [""])[0],
            virtual_hosted_style=style[0] == "true" if style else None,
        )

    def key(self, key: str) -> str:
        """The object's whole name in the bucket."""
        return f"{self.prefix}/{key}" if self.prefix else key


def response_timeout(size: int = 0) -> asyncio.Timeout:
    """Raises `TimeoutError` when the store does not take or give so many bytes in a fair time."""
    return asyncio.timeout(ANSWER_SECONDS + size / BYTES_PER_SECOND_MIN)


@asynccontextmanager
async def answering(bucket: str, size: int = 0) -> AsyncIterator[None]:
    """`response_timeout` for a request of obstore; raises `StorageRefused` for an answer that only
    a correction of the settings changes."""
    try:
        async with response_timeout(size):
            yield
    except Exception as error:
        if refusal := _refusal(bucket, error):
            raise StorageRefused(refusal) from error
        raise


def _refusal(bucket: str, error: Exception) -> str:
    """What to correct, or "" for an error of another kind; the store's answer is in its text."""
    text = str(error)
    match = re.search(r"<Code>(\w+)</Code>", text)
    code = match[1] if match else ""
    detail = f" ({code})" if code else ""
    if code == "NoSuchBucket":
        return (
            f"the object store has no bucket {bucket!r}{detail}: create it, or correct the name or"
            " the endpoint in its address (AGENTPOST_STORAGE_URL for the files of the server)"
        )
    if code in _REGIONS:
        return (
            f"the bucket {bucket!r} is in another region{detail}: correct region= in its"
            " address (AGENTPOST_STORAGE_URL for the files of the server)"
        )
    if code == "AccessDenied":
        return (
            f"the credentials may not use the bucket {bucket!r}{detail}: give their owner the right"
            f" to, or correct {_CREDENTIALS}"
        )
    if type(error).__name__ in _REFUSALS:
        return f"the object store refuses the credentials{detail}: correct {_CREDENTIALS}"
    if _METADATA_SERVICE in text:
        return f"there are no credentials for the bucket {bucket!r}: set {_CREDENTIALS}"
    return ""
