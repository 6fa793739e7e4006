"""The limits of the API that the client keeps or relies on, with the unit in each name.

The server has the same numbers in `agentpost.domain.limits`; a test compares them.
"""

from __future__ import annotations

from typing import Final

MEBIBYTE: Final = 2**20

INLINE_FILES_MAX: Final = 5
INLINE_FILE_BYTES_MAX: Final = 10 * MEBIBYTE
INLINE_TOTAL_BYTES_MAX: Final = 25 * MEBIBYTE
UPLOADS_PER_MESSAGE_MAX: Final = 10
UPLOADS_TOTAL_BYTES_MAX: Final = 1024 * MEBIBYTE
UPLOAD_BYTES_MAX: Final = 500 * MEBIBYTE
IDEMPOTENCY_KEY_CHARACTERS_MAX: Final = 128
WAIT_SECONDS_MAX: Final = 45
WORK_LIST_DEFAULT: Final = 20
AGENT_BUSY_RETRY_SECONDS: Final = 15
