"""The addresses in shapes: chats in the web app and signed downloads (design: Links)."""

from __future__ import annotations

from agentpost.clock import Clock
from agentpost.domain.times import SECOND
from agentpost.storage.signing import LinkSigner


class SignedLinks:
    """See `contract.shape.Links`."""

    def __init__(
        self, signer: LinkSigner, clock: Clock, *, app_url: str, link_seconds: float
    ) -> None:
        self._signer = signer
        self._clock = clock
        self._app_url = app_url
        self._link_seconds = link_seconds

    def chat(self, work_id: str) -> str:
        """See `Links.chat`."""
        return f"{self._app_url}/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        """See `Links.file`."""
        expires_at = int(self._clock.now() / SECOND + self._link_seconds)
        return self._signer.link(file_id, revision, expires_at)
