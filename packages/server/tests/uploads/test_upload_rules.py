"""Upload states, row by row (spec: Upload states; design: Uploads)."""

from itertools import product

import pytest

from agentpost.domain.errors import RuleBroken
from agentpost.uploads.rules import UploadSignal, UploadStatus, upload

# from, signal, to; "-" is deleted.
TABLE = """
    pending   checked    ready
    pending   refused    rejected
    pending   timed_out  -
    ready     checked    ready
    ready     attached   attached
    ready     timed_out  -
    rejected  timed_out  -
"""
ROWS = [line.split() for line in TABLE.strip().splitlines()]
KNOWN = {(status, signal) for status, signal, _ in ROWS}


@pytest.mark.rule("Upload states 1", "Upload states 2")
@pytest.mark.parametrize(("status", "signal", "to"), ROWS)
def test_each_row(status: str, signal: str, to: str) -> None:
    assert (upload(UploadStatus(status), UploadSignal(signal)) or "-") == to


@pytest.mark.rule("Upload states 3")
@pytest.mark.parametrize(
    ("status", "signal"),
    [pair for pair in product(UploadStatus, UploadSignal) if pair not in KNOWN],
)
def test_everything_else_is_refused(status: UploadStatus, signal: UploadSignal) -> None:
    """Attached and rejected uploads take nothing more (`not_pending`)."""
    with pytest.raises(RuleBroken, match=f"{status} cannot take {signal}"):
        upload(status, signal)


def test_the_words_a_client_reads() -> None:
    assert set(UploadStatus) == {"pending", "ready", "attached", "rejected"}
