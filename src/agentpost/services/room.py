"""Room for files: a floor under the free space, and what an account may have announced.

Below the floor uploads and files are refused while messages go on, so that the database on the same
disk can still grow. Free space is looked at by the check of the file storage every few seconds.
"""

from __future__ import annotations

from agentpost.db import accounts
from agentpost.db import uploads as rows
from agentpost.db.session import Tx
from agentpost.domain import limits
from agentpost.domain.errors import Overloaded, Refusal, StoreUnavailable
from agentpost.services.context import House

RETRY_SECONDS = 60
NO_ROOM = "the server has no room for files at the moment"


def is_short(house: House) -> bool:
    """Whether less space is free than `free_space_min_bytes`."""
    free = house.health.free_bytes
    return free is not None and free < house.settings.free_space_min_bytes


def ensure_for_uploads(house: House) -> None:
    """Raises ``unavailable`` below the floor."""
    if is_short(house):
        raise Overloaded(f"No upload can be taken: {NO_ROOM}; try again later.", RETRY_SECONDS)


def ensure_for_files(house: House) -> None:
    """Raises `StoreUnavailable` below the floor: a run stops, and goes on when there is room."""
    if is_short(house):
        raise StoreUnavailable(f"{NO_ROOM} (free_space_min_bytes)")


async def look(house: House) -> None:
    """Bring ``house.health.free_bytes`` up to date."""
    house.health.free_bytes = await house.storage.free_bytes()


def ensure_may_announce(tx: Tx, house: House, account_id: str, size: int) -> None:
    """Raises ``too_large`` when the account's unfinished uploads would be too many, or announce too
    many bytes together. Exact under concurrency: the account's row is locked."""
    accounts.lock(tx, account_id)
    count, total = rows.pending(tx, account_id)
    most = house.settings.upload_pending_bytes_max
    if total + size > most:
        raise Refusal(
            "too_large",
            f"The account's unfinished uploads announce {total:,} bytes, up to {most:,} are"
            " allowed with this one; complete them, or wait until they expire.",
        )
    if count >= limits.UPLOADS_PENDING_MAX:
        raise Refusal(
            "too_large",
            f"The account has {count:,} unfinished uploads; complete them, or wait until they"
            " expire.",
        )
