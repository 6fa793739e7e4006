"""Files that clients bring are scanned before anybody may read them (design: Scanning files)."""

from __future__ import annotations

from pathlib import Path

import structlog

from agentpost.domain.errors import Overloaded
from agentpost.processes.scanner import Scanned, Verdict
from agentpost.services.context import AppContext

log = structlog.get_logger(__name__)
_RETRY_SECONDS = 30
INFECTED = "the malware scanner found something in it"
UNSCANNED = "it could not be scanned for malware"


async def is_infected(ctx: AppContext, contents: bytes | Path, **named: str | None) -> bool:
    """Whether a file of these contents must not be taken; False when there is no scanner.

    Args:
        named: what the log calls the file.

    Raises `Overloaded` when the scanner failed, unless ``scan_failure`` accepts such files.
    """
    if ctx.scanner is None:
        return False
    if isinstance(contents, Path):
        found = await ctx.scanner.scan(contents)
    else:
        found = await ctx.scanner.scan_bytes(contents)
    return _judge(ctx, found, named)


async def is_blob_infected(ctx: AppContext, blob: str, **named: str | None) -> bool:
    """`is_infected` of stored bytes; those of a bucket are copied here first."""
    if ctx.scanner is None:
        return False
    return _judge(ctx, await ctx.scanner.scan(await ctx.storage.local(blob)), named)


def _judge(ctx: AppContext, found: Scanned, named: dict[str, str | None]) -> bool:
    if found.verdict is Verdict.FAILED:
        accepted = ctx.settings.scan_failure == "accept"
        log.error("scan_failed", reason=found.said, accepted=accepted, **named)
        if not accepted:
            text = "The file could not be scanned for malware; send it again later."
            raise Overloaded(text, _RETRY_SECONDS)
    if found.verdict is Verdict.INFECTED:
        log.warning("malware_refused", found=found.said, **named)
    return found.verdict is Verdict.INFECTED
