"""A bucket: its address as the settings give it, and how long it may take to answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

ANSWER_SECONDS = 30.0
"""One that accepts connections and says nothing must not hold its callers for ever."""
BYTES_PER_SECOND_MIN = 128 * 1_024
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
    def parse(cls, url: str) -> S3Location:
        """Read ``s3://bucket/prefix?endpoint=http://host:9000&region=eu-west-1``; raises
        `ValueError` for another kind of URL or unknown options."""
        parts = urlsplit(url)
        options = parse_qs(parts.query, strict_parsing=bool(parts.query))
        if parts.scheme != "s3" or not parts.hostname:
            raise ValueError("the storage URL is not of the form s3://bucket/prefix?endpoint=…")
        if unknown := options.keys() - _OPTIONS:
            raise ValueError(f"unknown option in the storage URL: {', '.join(sorted(unknown))}")
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


def below(url: str, name: str) -> str:
    """The address of a prefix below that one."""
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{name}").geturl()


def response_timeout(size: int = 0) -> asyncio.Timeout:
    """Raises `TimeoutError` when the store does not take or give so many bytes in a fair time."""
    return asyncio.timeout(ANSWER_SECONDS + size / BYTES_PER_SECOND_MIN)
