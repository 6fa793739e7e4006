"""Questions of a framework's run whose record is too long for a turn to see."""

from typing import Any

import pytest

from agentpost.agents import JobFailed, Turn
from agentpost.agents.adapters import conversing
from agentpost.agents.adapters.bound import bind
from agentpost.agents.adapters.conversing import Outcome, RunInput, approval, question
from agentpost.agents.adapters.recording import Charge, Recorder
from agentpost.testing import Conversation


class TwoThings:
    """A framework that wants to know two things, in a job; ``length`` is that of its memory."""

    kind = "two-things"
    at_once = False
    charge: Charge | None = None

    def __init__(self, length: int) -> None:
        self._length = length

    async def run(self, given: RunInput, _: Recorder) -> Outcome:
        if not given.answers:
            asked = [question("a", "Which?", ["Red", "Blue"]), approval("b", "pay", {"to": "Ann"})]
            return Outcome("", "x" * self._length, asked)
        text = f"{given.answer_to('a').value}, {given.approves('b')}"
        if given.answer_to("a").value == "Red":
            raise JobFailed(text)
        return Outcome(text, "")


def agent(length: int) -> Any:
    """The agent function of that framework."""

    async def take_turn(turn: Turn) -> None:
        await conversing.take_turn(framework, turn)

    framework = bind(TwoThings.kind, TwoThings(length))
    return take_turn


@pytest.mark.parametrize("length", [10, 100_000])
def test_each_gets_its_answer_however_long_the_memory_is(length: int) -> None:
    with Conversation(agent(length)) as talk:
        assert talk.send("begin").question == "Which?"
        assert talk.send("blue").question == "May I call pay(to='Ann')?"
        assert talk.send("no").text == "Blue, False"


@pytest.mark.parametrize("length", [10, 100_000])
def test_a_failed_run_has_used_its_answers(length: int) -> None:
    with Conversation(agent(length)) as talk:
        for text in ("begin", "red"):
            talk.send(text)
        failed = talk.send("yes")
        assert (failed.status, failed.text) == ("failed", "Red, True")
        assert talk.send("ok").question == "Which?"
        assert talk.send("blue").question == "May I call pay(to='Ann')?"
        assert talk.send("OK!").text == "Blue, True"
