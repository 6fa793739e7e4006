"""Each thing through the job: after a crash at any call they are finished."""

from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import File
from agentpost_offline.frame import Style, Thing, to_json
from agentpost_offline.making import run
from tests.agents.fakes import Crash, FakeJob
from tests.offline.making import stories

WISHES = [
    (Thing.CHART, "draw a chart", Style()),
    (Thing.DECK, "make a deck", Style(pages=4)),
    (Thing.SITE, "make a page", Style()),
    (Thing.REPORT, "write a report", Style(pages=1)),
    (Thing.IMAGE, "crop it square", Style(options={"crop": True, "square": True})),
    (Thing.VIDEO, "race", Style(seconds=2, size=(320, 180))),
]


@pytest.mark.parametrize(("thing", "said", "style"), WISHES, ids=[str(one[0]) for one in WISHES])
async def test_a_crash_before_any_call_changes_nothing(
    tmp_path: Path, thing: Thing, said: str, style: Style
) -> None:
    """One job crashes before each of its calls in turn and goes on after each crash, so that each
    call is made by a process that knows what was before from the journal only."""
    files: list[File] = [stories.orders(tmp_path)]
    if thing is Thing.IMAGE:
        files = [stories.picture(tmp_path)]
    frame = to_json(stories.frame(thing, files, said=said, style=style))
    whole = FakeJob(tmp_path)
    expected = await run.make(whole, frame, files, 1)
    journal: list[tuple[str, Any]] = []
    ran: list[str] = []
    for call in range(len(whole.journal)):
        job = FakeJob(tmp_path, journal=journal, crash_at=call)
        with pytest.raises(Crash):
            await run.make(job, frame, files, 1)
        ran += job.ran
    last = FakeJob(tmp_path, journal=journal)
    assert await run.make(last, frame, files, 1) == expected
    # What was done before a crash is not done again.
    assert ran + last.ran == whole.ran
