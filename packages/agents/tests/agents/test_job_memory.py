"""The memory of a job's work, as the next turn sees it."""

from agentpost.agents import Job, Turn
from agentpost.testing import Conversation


async def remember(job: Job) -> str:
    job.state = {"total": 1}  # type: ignore[misc]  # an author without a type checker does it
    job.state["more"] = 2
    return "Remembered."


async def agent(turn: Turn) -> None:
    if turn.works:
        turn.reply(str(turn.works[0].state))
    else:
        await turn.start(remember, "Remember")


def test_a_memory_may_be_replaced_as_well_as_changed() -> None:
    with Conversation(agent) as talk:
        talk.send("begin")
        assert talk.send("and?").text == "{'more': 2, 'total': 1}"
