"""Files that clients bring are scanned before anybody may read them (design: Scanning files).

Each scan says whether the scanner works (`AppContext.health`); where nobody brings files, a check
scans a harmless one from time to time.
"""

from pathlib import Path
from typing import Final

import structlog

from agentpost.context import AppContext
from agentpost.domain.errors import Overloaded
from agentpost.operations import health_state
from agentpost.processes.scanner import ScanResult, Verdict

log = structlog.get_logger(__name__)
_RETRY_SECONDS = 30
CHECK_SECONDS: Final = 30.0
"""Between two looks whether a check is due: at once while the scanner fails."""
CHECKED_SECONDS: Final = 300.0
"""For how long a scan that went well counts: a scanner without a daemon takes seconds of CPU."""
_HARMLESS: Final = b"A file without malware, by which agentpost checks that the scanner works.\n"
INFECTED = "the malware scanner found something in it"
UNSCANNED = "it could not be scanned for malware"


async def is_infected(ctx: AppContext, contents: bytes | Path, **fields: str | None) -> bool:
    """Whether a file of these contents must not be taken; False when there is no scanner.
    ``fields``: what the log says of the file. Raises `Overloaded` when the scanner failed, unless
    ``scan_failure`` accepts such files."""
    if ctx.scanner is None:
        return False
    if isinstance(contents, Path):
        result = await ctx.scanner.scan(contents)
    else:
        result = await ctx.scanner.scan_bytes(contents)
    return _judge(ctx, result, fields)


async def is_blob_infected(ctx: AppContext, blob: str, **fields: str | None) -> bool:
    """`is_infected` of stored bytes; those of a bucket are copied here first."""
    if ctx.scanner is None:
        return False
    return _judge(ctx, await ctx.scanner.scan(await ctx.storage.local(blob)), fields)


async def problem(ctx: AppContext) -> str | None:
    """Scan a harmless file: why the scanner does not work, None when it does or there is none."""
    if ctx.scanner is None:
        return None
    result = await ctx.scanner.scan_bytes(_HARMLESS)
    if result.verdict is Verdict.INFECTED:
        return f"it finds something in a harmless file: {result.detail}"
    return result.detail if result.verdict is Verdict.FAILED else None


async def check(ctx: AppContext) -> None:
    """Keep `AppContext.health` up to date, unless a file was scanned a short while ago."""
    if ctx.health.worked_within(health_state.SCANNER, CHECKED_SECONDS):
        return
    text = await problem(ctx)
    if text is None:
        ctx.health.works(health_state.SCANNER)
    else:
        ctx.health.note_failure(health_state.SCANNER, text)


def _judge(ctx: AppContext, result: ScanResult, subject: dict[str, str | None]) -> bool:
    if result.verdict is Verdict.FAILED:
        ctx.health.note_failure(health_state.SCANNER, result.detail)
        accepted = ctx.settings.scan_failure == "accept"
        log.error("scan_failed", reason=result.detail, accepted=accepted, **subject)
        if not accepted:
            text = "The file could not be scanned for malware; send it again later."
            raise Overloaded(text, _RETRY_SECONDS)
    else:
        ctx.health.works(health_state.SCANNER)
    if result.verdict is Verdict.INFECTED:
        log.warning("malware_refused", found=result.detail, **subject)
    return result.verdict is Verdict.INFECTED
