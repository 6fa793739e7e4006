"""Incoming uploads: clients post a file to a staging area, apart from all other blobs.

Contract, the same for every adapter (`tests.conformance.test_incoming`):

* What lies in an upload's place came through its form: whole, and of a size the form allows. A post
  that breaks off leaves nothing there; a repeated one replaces what was there, in one step.
* ``snapshot`` keeps exactly the version that was found, whatever is posted in the meantime, under a
  key of the blob store that no client can reach. It leaves the place as it is.
* All methods may be awaited on any event loop and never block one.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from agentpost.storage.post_policy import PolicySigner

TARGET_PATH = "/uploads"
"""Where this server takes posted files, when it is the one that does (`Receiver`)."""


class Replaced(Exception):
    """The upload that was found has disappeared: it was replaced or removed."""


@dataclass(frozen=True, slots=True)
class PostForm:
    """Where to post, and the form fields that go before the file."""

    url: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A file in its place: size in bytes, and a text that is another one for other bytes."""

    size: int
    version: str


class Incoming(Protocol):
    """See the module docstring."""

    async def form(
        self, upload_id: str, content_type: str, max_bytes: int, expires_at: int, seconds: float
    ) -> PostForm:
        """The form for an upload, which can be posted until ``expires_at`` (microseconds): for so
        many seconds from now."""

    async def find(self, upload_id: str) -> Arrived | None:
        """The file posted for the upload."""

    async def snapshot(self, upload_id: str, file: Arrived, key: str) -> None:
        """Keep what was found as a blob under a fresh key; raises `Replaced`."""

    async def delete(self, upload_id: str) -> None:
        """Clear the upload's place; no error when it is empty."""

    async def tidy(self) -> None:
        """Remove what broken-off posts, and broken-off puts of blobs, left behind, once that was
        long enough ago."""


class Receiver(Protocol):
    """An `Incoming` whose files this server itself receives."""

    @property
    def policies(self) -> PolicySigner:
        """Says what a posted form allows."""

    async def receive(self, upload_id: str, pieces: AsyncIterator[bytes]) -> Arrived:
        """Take an upload's file as it arrives, and put it in its place, safe from a power cut, when
        all is there. What ``pieces`` raises is passed on, and nothing is left."""
