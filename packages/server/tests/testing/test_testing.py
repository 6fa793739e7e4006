"""`agentpost.testing`: an agent in the process of its test."""

import asyncio
import itertools
from typing import ClassVar

import pytest

from agentpost.agents import Backoff, File, Job, JobFailed, Turn, step_key
from agentpost.testing import (
    Conversation,
    CrashPoint,
    NotRepeatable,
    crash_after,
    crash_before,
    run,
)


class Seen:
    """What ran outside of the journal; new for each test."""

    steps: ClassVar[list[str]] = []
    numbers: ClassVar["itertools.count[int]"] = itertools.count()


@pytest.fixture(autouse=True)
def seen() -> None:
    Seen.steps, Seen.numbers = [], itertools.count()


async def agent(turn: Turn) -> None:
    """The agent of these tests."""
    file = turn.message.files[0] if turn.message.files else None
    await turn.start(work, title="Work", file=file, how=turn.message.text)
    turn.reply("I am on it.")


async def work(job: Job, file: File | None, how: str) -> str:
    """Its job."""
    first = await job.step(note, "first")
    if how == "early" and next(Seen.numbers) == 1:
        return "done"
    if how == "other":
        await job.step(note, f"number {next(Seen.numbers)}")
    if how == "fewer" and next(Seen.numbers) == 0:
        await job.progress("only once")
    if how == "fail":
        raise JobFailed("That cannot be done.")
    second = await job.step(note, "second", cost=2)
    length = await job.step(length_of, file) if file else 0
    await job.write("sum.txt", f"{first} {second} {length}")
    return f"done {next(Seen.numbers)}" if how == "random" else "done"


async def note(name: str) -> str:
    """A step that leaves a trace."""
    Seen.steps.append(f"{name} {step_key()[-1]}")
    return name


def length_of(file: File) -> int:
    """A plain function, with the file by its local path."""
    return len(file.local.read_bytes())


def test_a_run_is_told_as_its_caller_sees_it() -> None:
    done = run(agent, "go", files={"a.txt": "abc"}, credits=5)
    assert (done.status, done.reply, done.text) == ("completed", "I am on it.", "done")
    assert done.files == {"sum.txt": b"first second 3"}
    assert done.credits_used == 2
    assert done.calls == (f"start {__name__}:work",)
    step = f"step {__name__}"
    assert done.jobs[0].calls == (
        *(f"{step}:note", f"{step}:note", f"{step}:length_of"),
        "write",
    )
    assert Seen.steps == ["first 1", "second 2"]


@pytest.mark.parametrize(
    ("crash", "steps"),
    [
        (crash_after("start"), ["first 1", "second 2"]),
        (crash_after("step", 2), ["first 1", "second 2"]),
        (crash_before("step", 2), ["first 1", "second 2", "second 2"]),
        (crash_after("write"), ["first 1", "second 2"]),
    ],
    ids=str,
)
def test_a_crash_repeats_what_was_not_recorded(crash: CrashPoint, steps: list[str]) -> None:
    done = run(agent, "go", crash=crash, credits=2)  # just enough: nothing is held twice
    assert (done.status, done.credits_used) == ("completed", 2)
    assert Seen.steps == steps
    assert len(done.jobs) == 1


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("other", "call 2 was step .*:note, the re-run made step .*; the arguments differ"),
        ("fewer", "call 2 was progress, the re-run made step .*:note; the call differ"),
        ("early", "call 2 was step .*:note, the re-run ended without it: it made 1 of 3 recorded"),
        ("random", "said 'done 0', its re-run 'done 1'"),
    ],
)
def test_the_replay_check_names_what_is_not_repeatable(how: str, text: str) -> None:
    with pytest.raises(NotRepeatable, match=text):
        run(agent, how)
    assert run(agent, how, replay=False).status == "completed"


def test_a_job_that_leaves_out_recorded_calls_after_a_crash_fails() -> None:
    with pytest.raises(NotRepeatable, match=r"call 2 was step .*:note, the re-run ended without"):
        run(agent, "early", crash=crash_after("step", 2))


def test_a_failure_is_an_outcome() -> None:
    done = run(agent, "fail")
    assert (done.status, done.reason) == ("failed", "execution_failed")
    assert done.text == "That cannot be done."


def test_a_job_waits_for_credits_and_goes_on() -> None:
    with Conversation(agent, credits=1) as talk:
        parked = talk.send("go")
        done = talk.add_credits(5)
    assert (parked.status, parked.reason) == ("blocked", "out_of_credits")
    assert done.status == "completed"
    assert Seen.steps == ["first 1", "second 2"]


async def asking(turn: Turn) -> None:
    """Asks, remembers and answers."""
    if turn.answer is None:
        turn.state["at"] = turn.message.at
        turn.ask("How fast?", choices=["Slow", "Fast"])
    else:
        turn.reply(f"{turn.answer.value} since {turn.state['at']}")


def test_a_conversation_has_a_clock_that_stands_still() -> None:
    with Conversation(asking) as talk:
        asked = talk.send("Hello")
        talk.clock.advance(3600)
        done = talk.send(answer="fast")
    assert (asked.question, asked.choices) == ("How fast?", ("Slow", "Fast"))
    assert done.reply == "Fast since 2027-01-15T08:00:01.000000Z"


async def waits(turn: Turn) -> None:
    """Starts a job that waits for a follow-up, then hands one to it."""
    if turn.running:
        await turn.join(turn.running[0].job_id)
        turn.reply("Passed on.")
    else:
        await turn.start(listen, title="Listen")


async def listen(job: Job) -> str:
    """Waits to be told something."""
    return ", ".join(said.text for said in await job.inbox(wait=60))


def test_a_job_is_told_something_while_it_runs() -> None:
    with Conversation(waits) as talk:
        assert talk.send("begin", wait=False).status == "processing"
        done = talk.send("more")
    assert (done.reply, done.text) == ("Passed on.", "more")


async def flaky(turn: Turn) -> None:
    """Its job's step fails twice, the first time while the turn still runs."""
    await turn.start(flaky_work, title="Try")
    for _ in range(10):
        await asyncio.sleep(0.01)  # in which the job must not move the clock


async def flaky_work(job: Job) -> str:
    """Waits a minute between two tries, on the test's clock."""
    with pytest.raises(ValueError, match="1 to 100 characters"):
        job.step(third_time, name="")
    backoff = Backoff(first=60, maximum=60)
    return str(await job.step(third_time, name="Ask again", retries=2, backoff=backoff))


def third_time() -> str:
    """Succeeds at last."""
    Seen.steps.append("try")
    if len(Seen.steps) < 3:
        raise ConnectionError("not yet")
    return "there"


def test_retries_wait_on_the_clock_of_the_test() -> None:
    with Conversation(flaky) as talk:
        before = talk.clock.now()
        done = talk.send("go")
        assert (done.text, done.jobs[0].calls) == ("there", ("step Ask again",))
        assert (done.status, done.reason) == ("completed", None)
        assert talk.clock.now() - before == 121_000_000


def test_a_crash_point_that_is_not_reached_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"nothing reached crash_after\('step', 9\)"):
        run(agent, "go", crash=crash_after("step", 9))
    with pytest.raises(ValueError, match="'steps' is not a recorded call"):
        crash_after("steps")


def test_it_works_inside_a_running_loop() -> None:
    async def test() -> str | None:
        return run(agent, "go").text

    assert asyncio.run(test()) == "done"
