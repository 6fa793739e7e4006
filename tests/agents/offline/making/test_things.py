"""Decks, sites, pictures and films through the job: after a crash at any call they are finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File
from agentpost.agents.offline.frame import Style, Thing, to_json
from agentpost.agents.offline.making import run
from tests.agents.fakes import Crash, FakeJob
from tests.agents.offline.making import stories

WISHES = [
    (Thing.DECK, "make a deck", Style(pages=4)),
    (Thing.SITE, "make a website", Style()),
    (Thing.IMAGE, "crop it square", Style(options={"crop": True, "square": True})),
    (Thing.VIDEO, "bar race", Style(seconds=2, size=(320, 180))),
]


@pytest.mark.parametrize(("thing", "said", "style"), WISHES, ids=[str(one[0]) for one in WISHES])
async def test_a_crash_between_calls_changes_nothing(
    tmp_path: Path, thing: Thing, said: str, style: Style
) -> None:
    files: list[File] = [stories.orders(tmp_path)]
    if thing is Thing.IMAGE:
        files = [stories.picture(tmp_path)]
    frame = to_json(stories.frame(thing, files, said=said, style=style))
    whole = FakeJob(tmp_path)
    expected = await run.make(whole, frame, files, 1)
    for call in range(0, len(whole.journal), 2):
        job = FakeJob(tmp_path, crash_at=call)
        with pytest.raises(Crash):
            await run.make(job, frame, files, 1)
        again = FakeJob(tmp_path, journal=list(job.journal))
        # What was done before the crash is not done again.
        assert await run.make(again, frame, files, 1) == expected
        assert len(again.ran) + len(job.ran) == len(whole.ran)
