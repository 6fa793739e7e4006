"""The bodies of a logged request, packed into one value: about 40 of 100 bytes are left.

The log is the largest table of most servers, and its bodies most of a row. Both are packed
together, since an answer repeats much of what was asked.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentpost.domain.records import RequestRecord

_LEAST_CHARACTERS: Final = 200
"""Of both bodies: what is shorter stays as it is."""
_LEVEL: Final = 1
_WINDOW: Final = -12
"""Raw deflate within 4 KiB. A window of the usual size takes seven times as long to set up as
packing a usual request does."""
_MEMORY: Final = 5
_KNOWN: Final = (
    b'{"message": "", "conversation": ""}{"id":"msg_06","object":"message","status":"processing",'
    b'"reason":null,"question":null,"final":false,"reply":null,"jobs":[{"job_id":"exe_06","kind":'
    b'"execution","role":"execution","work_id":"wrk_06","title":"","status":"completed","reason":'
    b'null,"final":true,"queued":null,"resume_by":null,"link":"https://","started_at":"2026-",'
    b'"settled_at":"2026-","files":[]}],"files":[],"notes":[],"credits_used":0.0,"created_at":'
    b'"2026-","updated_at":"2026-","version":2,"conversation":null}'
)
"""What bodies consist of. Never change it: rows are read with what they were packed with."""
_BETWEEN: Final = b"\0"
"""No body holds it."""


def pack(records: Sequence[RequestRecord]) -> list[RequestRecord]:
    """The records as they are stored. Takes 10 µs for each, on any thread, and lets go of the
    interpreter meanwhile."""
    return [_pack(record) for record in records]


def unpack(record: RequestRecord) -> RequestRecord:
    """A stored record with its bodies."""
    if record.bodies is None:
        return record
    # As long as the bodies that were packed: those are bounded.
    whole = zlib.decompressobj(_WINDOW, _KNOWN).decompress(record.bodies)
    request, _, response = whole.decode().partition(_BETWEEN.decode())
    return replace(
        record, request_body=request or None, response_body=response or None, bodies=None
    )


def _pack(record: RequestRecord) -> RequestRecord:
    request, response = record.request_body or "", record.response_body or ""
    if len(request) + len(response) < _LEAST_CHARACTERS:
        return record
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, 0, _KNOWN)
    bodies = packer.compress(_BETWEEN.join((request.encode(), response.encode()))) + packer.flush()
    return replace(record, request_body=None, response_body=None, bodies=bodies)
