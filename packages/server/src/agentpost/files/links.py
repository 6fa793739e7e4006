"""The addresses in shapes: chats in the web app and signed downloads (design: Links)."""

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

    def chat(self, work_id: str) -> str:
        """See `Links.chat`."""
        return f"{self._app_url}/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        """See `Links.file`."""
        return self._signer.link(file_id, revision, self.expiry())

    def expiry(self) -> int:
        """See `SigningLinks.expiry`."""
        return int(self._clock.now() / SECOND + self._link_seconds)

    def until(self, expires_at: int) -> Links:
        """See `SigningLinks.until`."""
        return _LinksUntil(self, self._signer, expires_at)


class _LinksUntil:
    """Links of one server, all of which expire at one time."""

    def __init__(self, links: SignedLinks, signer: LinkSigner, expires_at: int) -> None:
        self._links = links
        self._signer = signer
        self._expires_at = expires_at

    def chat(self, work_id: str) -> str:
        """See `Links.chat`."""
        return self._links.chat(work_id)

    def file(self, file_id: str, revision: str) -> str:
        """See `Links.file`."""
        return self._signer.link(file_id, revision, self._expires_at)
