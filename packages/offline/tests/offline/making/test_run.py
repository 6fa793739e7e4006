"""The one job: plan, follow-ups under way, result text, what the work remembers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from agentpost.agents import File
from agentpost_offline.frame import (
    Act,
    Aggregate,
    Frame,
    Grain,
    Measure,
    Query,
    Thing,
    from_json,
    to_json,
)
from agentpost_offline.making import catalogue, run
from agentpost_offline.making.maker import Maker, Output, Plan
from tests.agents.fakes import Crash, FakeJob, utterance

FRAMES: list[Frame] = []


def plan(files: Sequence[File], frame: Any, sections: Any, version: int) -> Any:
    """Of a maker that remembers its frames."""
    FRAMES.append(from_json(frame))
    name = f"chart-{version}.png"
    used = tuple(f"{file.name} (96 rows)" for file in files)
    return msgspec.to_builtins(Plan(
        f"A chart: {name}.", (Output(name),), used, ("b.csv is empty",), ("2 dates are missing",)
    ))  # fmt: skip


def write(files: Sequence[File], frame: Any, sections: Any) -> bytes:
    """What the maker of these tests writes."""
    return (from_json(frame).style.colour or "").encode()


@pytest.fixture(autouse=True)
def maker(monkeypatch: pytest.MonkeyPatch) -> None:
    FRAMES.clear()
    made = Maker(Thing.CHART, "Chart", 1, ("png", "pdf"), frozenset({"table"}), "")
    module = SimpleNamespace(SECONDS=60.0, plan=plan, write=write)
    monkeypatch.setattr(Maker, "load", lambda _: module)
    monkeypatch.setitem(catalogue.MAKERS, Thing.CHART, made)


def wanted(csv: File) -> dict[str, Any]:
    """Revenue by month."""
    query = Query(
        f"{csv.id}#0", (Measure("revenue", Aggregate.SUM),), time="month", grain=Grain.MONTH
    )
    return to_json(Frame(Act.MAKE, Thing.CHART, (query,), files=(csv.id,)))


async def test_the_plan_is_shown_and_the_result_says_what_was_used(
    tmp_path: Path, csv: File
) -> None:
    job = FakeJob(tmp_path)
    text = await run.make(job, wanted(csv), [csv], 1)
    assert job.steps[0] == "Plan: read sales.csv; make a chart (png); open it again and check it"
    assert text == (
        "A chart: chart-1.png.\n\nUsed: sales.csv (96 rows).\nNot used: b.csv is empty.\n"
        "Note: 2 dates are missing."
    )
    assert job.charged == 1
    assert job.state["version"] == 1
    assert from_json(job.state["frame"]) == from_json(wanted(csv))


async def test_a_follow_up_before_the_start_changes_the_result(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path, mail=[[utterance("make it green"), utterance("split it by region")]])
    await run.make(job, wanted(csv), [csv], 1)
    [frame] = FRAMES
    assert (frame.style.colour, frame.queries[0].groups) == ("#2e8b57", ("region",))
    assert list(job.written) == ["chart-1.png"]


async def test_a_follow_up_under_way_is_made_as_the_next_version(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path, mail=[[], [utterance("make it green")]])
    text = await run.make(job, wanted(csv), [csv], 1)
    assert [frame.style.colour for frame in FRAMES] == [None, "#2e8b57"]
    assert text.startswith("A chart: chart-2.png.")
    assert job.state["version"] == 2
    assert isinstance(job.state["earlier"], list)
    assert len(job.state["earlier"]) == 1


async def test_a_follow_up_that_cannot_be_followed_is_named(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path, mail=[[utterance("now by country")]])
    text = await run.make(job, wanted(csv), [csv], 1)
    assert "“now by country” was not understood, so it was not done" in text
    assert FRAMES[0].queries == from_json(wanted(csv)).queries


async def test_it_does_the_same_again_after_a_crash_at_each_call(tmp_path: Path, csv: File) -> None:
    mail = [[utterance("make it green")], [], [utterance("split it by channel")]]
    whole = FakeJob(tmp_path, mail=[list(one) for one in mail])
    expected = await run.make(whole, wanted(csv), [csv], 1)
    for crash_at in range(len(whole.journal)):
        first = FakeJob(tmp_path, mail=[list(one) for one in mail], crash_at=crash_at)
        with pytest.raises(Crash):
            await run.make(first, wanted(csv), [csv], 1)
        second = FakeJob(tmp_path, journal=first.journal, mail=first.mail)
        assert await run.make(second, wanted(csv), [csv], 1) == expected
        assert first.charged + second.charged == whole.charged


def test_a_maker_whose_library_is_missing_names_the_extra() -> None:
    made = Maker(
        Thing.VIDEO, "Video", 5, ("mp4",), frozenset({"table"}), "", ("no_such_library", "video")
    )
    assert catalogue.missing_extra(made) == "video"
    assert catalogue.missing_extra(replace(made, requires=("json", "video"))) is None
