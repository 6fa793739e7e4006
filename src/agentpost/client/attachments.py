"""Files that travel inside a message (spec: InlineFile).

The server skips what is over a limit and says so in ``notes``; here it is refused before anything
is sent, because a caller who names a file wants the agent to have it.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from agentpost.client.errors import FileRefused
from agentpost.domain.limits import (
    INLINE_FILE_BYTES_MAX,
    INLINE_FILES_MAX,
    INLINE_TOTAL_BYTES_MAX,
    MEBIBYTE,
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Bytes in memory to send as a file; the type is guessed from the name when not given."""

    name: str
    data: bytes = field(repr=False)
    content_type: str | None = None


Sendable: TypeAlias = "str | Path | Attachment"
"""A path of a local file, or bytes with a name."""


def encode_files(files: Sequence[Sendable]) -> list[dict[str, str]]:
    """Read and encode files for the request body. Blocks on the disk.

    Raises `FileRefused` for a file that cannot be read and for more than the limits allow.
    """
    if len(files) > INLINE_FILES_MAX:
        raise FileRefused(f"A message takes at most {INLINE_FILES_MAX} files, not {len(files)}.")
    attachments = [file if isinstance(file, Attachment) else _load(Path(file)) for file in files]
    for attachment in attachments:
        _check_size(attachment.name, len(attachment.data))
    total = sum(len(attachment.data) for attachment in attachments)
    if total > INLINE_TOTAL_BYTES_MAX:
        raise FileRefused(
            f"The files have {_mb(total)} together; a message takes {_mb(INLINE_TOTAL_BYTES_MAX)}."
        )
    return [_encode(attachment) for attachment in attachments]


def _load(path: Path) -> Attachment:
    try:
        if path.is_dir():
            raise FileRefused(f"{path} is a folder, not a file.")
        # Asked before reading: a huge file must not fill the memory first.
        _check_size(path.name, path.stat().st_size)
        return Attachment(path.name, path.read_bytes())
    except FileNotFoundError:
        raise FileRefused(f"There is no file {path}.") from None
    except OSError as error:
        raise FileRefused(f"Cannot read {path}: {error.strerror or error}.") from None


def _check_size(name: str, size: int) -> None:
    if size > INLINE_FILE_BYTES_MAX:
        limit = _mb(INLINE_FILE_BYTES_MAX)
        raise FileRefused(f"{name} has {_mb(size)}; a file inside a message has at most {limit}.")


def _encode(attachment: Attachment) -> dict[str, str]:
    content_type = attachment.content_type or mimetypes.guess_type(attachment.name)[0]
    encoded = {"name": attachment.name, "base64": base64.b64encode(attachment.data).decode()}
    return encoded | ({"content_type": content_type} if content_type else {})


def _mb(size: int) -> str:
    return f"{size / MEBIBYTE:.1f} MB"
