"""The makers, against what the README says they cost."""

import re
from pathlib import Path

import pytest

from agentpost.agents import JobFailed
from agentpost_offline.frame import Act, Frame, Style, Thing, to_json
from agentpost_offline.making import catalogue, run
from agentpost_offline.replying import say
from tests.agents.fakes import FakeJob, file
from tests.offline.making import stories

README = Path(__file__).parents[5] / "README.md"


def test_the_readme_says_what_each_thing_costs() -> None:
    sentence = " ".join(README.read_text("utf-8").partition("file is written: ")[2].split())
    lists = re.findall(r"((?:an? \w+(?:, | or )?)+) (\d)", sentence.partition(".")[0])
    prices = {
        thing: float(price) for things, price in lists for thing in re.findall(r"an? \w+", things)
    }
    made = {
        say("en", f"things.{one.thing.value}"): one.credits for one in catalogue.MAKERS.values()
    }
    assert prices == made


@pytest.mark.parametrize("thing", catalogue.MAKERS)
async def test_nothing_is_charged_for_what_is_not_made(thing: Thing, tmp_path: Path) -> None:
    """No file of it can be read: the job says why, writes nothing and costs nothing."""
    inputs = []
    for name, content in (
        ("a.pdf", b"%PDF-1.7 no"),
        ("b.csv", b""),
        ("c.png", b"\x89PNG\r\n\x1a\n" + bytes(99)),
    ):
        (tmp_path / name).write_bytes(content)
        inputs.append(file(tmp_path / name))
    frame = to_json(Frame(Act.MAKE, thing, said=f"make {thing}"))
    job = FakeJob(tmp_path)
    with pytest.raises(JobFailed, match=r"[abc]\.(?:pdf|csv|png)"):
        await run.make(job, frame, inputs, 1)
    assert (job.charged, job.written) == (0, {})


async def test_a_film_that_fails_its_check_is_not_charged_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*args: object) -> float:
        raise JobFailed("The film came out damaged.")

    monkeypatch.setattr("agentpost_offline.making.video.encoding.check", damaged)
    orders = stories.orders(tmp_path)
    style = Style(seconds=2, size=(320, 180))
    job = FakeJob(tmp_path)
    with pytest.raises(JobFailed, match="came out damaged"):
        await run.make(job, to_json(Frame(Act.MAKE, Thing.VIDEO, style=style)), [orders], 1)
    assert (job.charged, job.written) == (0, {})
