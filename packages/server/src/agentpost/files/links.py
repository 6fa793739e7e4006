"""The addresses in shapes: chats in the web app and signed downloads (design: Links)."""

from copy import copy

from agentpost.clock import Clock
from agentpost.contract.shape import Links
from agentpost.domain.times import SECOND
from agentpost.storage.signing import LinkSigner


class SignedLinks:
    """See `contract.shape.SigningLinks`."""

    def __init__(
        self, signer: LinkSigner, clock: Clock, *, app_url: str, link_seconds: float
    ) -> None:
        self._signer = signer
        self._clock = clock
        self._app_url = app_url
        self._link_seconds = link_seconds
        self._expires_at: int | None = None

    def chat(self, work_id: str) -> str:
        return f"{self._app_url}/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        return self._signer.link(file_id, revision, self.expiry())

    def expiry(self) -> int:
        if self._expires_at is not None:
            return self._expires_at
        return int(self._clock.now() / SECOND + self._link_seconds)

    def until(self, expires_at: int) -> Links:
        links = copy(self)
        links._expires_at = expires_at
        return links
