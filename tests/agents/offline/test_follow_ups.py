"""Follow-ups: what continues the last result, what is asked first, and what a first choice does."""

from __future__ import annotations

import pytest

from agentpost.agents import File
from agentpost_offline.frame import Aggregate, Derived, Measure, Thing
from tests.agents.offline.conversations import Conversation, frame

REVENUE = Measure("revenue", Aggregate.SUM)
ORDERS = Measure("orders", Aggregate.SUM)
PRICE = Measure("unit_price", Aggregate.MEAN)


@pytest.mark.parametrize(
    ("first", "then", "measure", "groups"),
    [
        ("revenue in North as a chart by channel", "and the orders?", ORDERS, ("channel",)),
        ("revenue by region as a chart", "now the same but orders, not revenue", ORDERS,
         ("region",)),
        ("chart revenue by channel", "and the unit price?", PRICE, ("channel",)),
        ("revenue in North", "as a pie chart by region", REVENUE, ("region",)),
        ("revenue by region", "as a chart", REVENUE, ("region",)),
    ],
)  # fmt: skip
async def test_a_follow_up_keeps_the_rest(
    csv: File, first: str, then: str, measure: Measure, groups: tuple[str, ...]
) -> None:
    talk = Conversation()
    await talk.say(first, csv)
    turn = await talk.say(then)
    (job,) = turn.started
    (query,) = frame(job).queries
    assert (query.measures, query.groups) == ((measure,), groups)
    assert not [one for one in query.filters if one.column in groups]


async def test_a_share_is_of_the_group_that_was_asked_for(csv: File) -> None:
    talk = Conversation()
    await talk.say("revenue in North", csv)
    turn = await talk.say("and as a percentage of the total?")
    assert turn.text.startswith("North: 50%")
    assert Derived.SHARE in str(talk.state["answered"])


async def test_a_bare_thing_after_an_answer_may_mean_both_and_is_asked(csv: File) -> None:
    talk = Conversation()
    await talk.say("revenue by region", csv)
    turn = await talk.say("excel please")
    assert not turn.started
    assert turn.choices[0] == "a spreadsheet: total Revenue by Region"
    (job,) = (await talk.say(turn.choices[0])).started
    assert (frame(job).thing, frame(job).queries[0].groups) == (Thing.TABLE, ("region",))


@pytest.mark.parametrize(
    ("text", "choice", "answer"),
    [
        ("revenue by region for my bank", "Do this", "Total Revenue:"),
        ("how many online in 2025", "number of rows, Channel = Online, 2025", "Number of rows: 24"),
        ("best region in 2024", "top 1: total Revenue by Region, 2024", "North and South"),
        ("how did it develop", "total Revenue by Month", "Total Revenue:"),
        ("share the list with Karl", "", ""),
    ],
)
async def test_the_first_choice_is_what_was_understood(
    csv: File, text: str, choice: str, answer: str
) -> None:
    talk = Conversation()
    turn = await talk.say(text, csv)
    assert turn.questions
    assert not turn.started
    if choice:
        assert turn.choices[0] == choice
        assert (await talk.say(choice)).text.startswith(answer)


async def test_it_has_no_result_after_a_question(csv: File) -> None:
    talk = Conversation()
    await talk.say("frobnicate the revenue", csv)
    turn = await talk.say("draw it as columns")
    assert turn.questions
    assert not turn.started
