"""Signals that other rows imply: they are shown, and have no rows (design: One record and one
writer)."""

from agentpost.explain import timeline
from tests.harness.context import Harness


async def test_signals_that_other_rows_imply_need_no_rows(harness: Harness) -> None:
    first = await harness.begin_turn()
    second = (await harness.send()).message.id
    await harness.end(first, "Gladly.", "Which one?")
    for message_id, expected in (
        (first.message.id, ["TurnBegun", "TurnReplied"]),
        (second, ["TurnQueued", "TurnBegun"]),
    ):
        story = await timeline.build(harness.ctx, message_id)
        signals = [line for line in story.lines if line.source == "signal"]
        assert [line.what for line in signals] == expected
        assert story.total == len(story.lines)
        kept = harness.all("SELECT name FROM signals WHERE owner = ? ORDER BY id", message_id)
        assert [row[0] for row in kept] == (expected if message_id == second else [])
    said = (await timeline.build(harness.ctx, first.message.id)).lines[1].facts
    assert said == {"reply": "Gladly.", "question": "Which one?", "delivered_sync": True}
