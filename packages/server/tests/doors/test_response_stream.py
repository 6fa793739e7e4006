"""The events of a stream whatever is told of a text before it comes (no server)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agentpost.doors.openai.responses import Echo, ResponseStream
from agentpost.doors.writing import Said, Texts, piece_end, pieces
from agentpost.following.followers import Moment
from agentpost.jobs.rules import JobRole, JobState
from agentpost.messages.rules import TurnState
from agentpost.record.records import JobLink, Snapshot
from tests.contract.test_shapes import JOB, LINKS
from tests.doors.test_states import MESSAGE

TEXT = "".join(f"row {n} is fine. " for n in range(40)).strip()
JOBS = ("exe_" + "1" * 32, "exe_" + "2" * 32)


def moment(*shown: dict[str, Any], reply: str | None = None, **results: str | None) -> Moment:
    """A moment; the jobs are named ``a`` and ``b``, None for one that runs."""
    state = TurnState.RUNNING if reply is None else TurnState.ENDED
    message = replace(MESSAGE, turn_state=state, reply=reply)
    links = [
        JobLink(
            replace(
                JOB,
                id=JOBS["ab".index(name)],
                state=JobState.RUNNING if result is None else JobState.COMPLETED,
                result=result,
                settled_at=None if result is None else 7,
            ),
            JobRole.EXECUTION,
        )
        for name, result in results.items()
    ]
    return Moment(Snapshot(message, links, []), [], False, [json.dumps(each) for each in shown])


def delta(text: str, offset: int = 0, job: int | None = None) -> dict[str, Any]:
    source = {} if job is None else {"job_id": JOBS[job]}
    return {"message_id": MESSAGE.id, **source, "offset": offset, "text": text}


RESET = {"message_id": MESSAGE.id, "reset": True}


def play(*moments: Moment, after: int = -1) -> list[dict[str, Any]]:
    stream = ResponseStream(LINKS, Echo(), after)
    return [event for each in moments for event in stream.events(each)]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event.get("delta", "") for event in events)


WHOLE = play(moment(reply=TEXT))
LIVES: list[tuple[str, list[Moment]]] = [
    ("at once", [moment(), moment(delta(TEXT))]),
    ("in halves", [moment(), moment(delta(TEXT[:99])), moment(delta(TEXT[99:], 99))]),
    ("letter by letter", [moment(), *(moment(delta(c, n)) for n, c in enumerate(TEXT[:200]))]),
    ("with a gap", [moment(), moment(delta(TEXT[:99])), moment(delta(TEXT[150:], 150))]),
    ("without its begin", [moment(), moment(delta(TEXT[40:], 40))]),
    ("taken back before it was shown", [moment(), moment(delta("No. "), RESET, delta(TEXT))]),
]


@pytest.mark.parametrize("lived", [each[1] for each in LIVES], ids=[each[0] for each in LIVES])
def test_what_is_told_early_has_the_numbers_that_it_has_later(lived: list[Moment]) -> None:
    """And a stream continues behind any of them, also when it hears only what is left."""
    events = play(*lived, moment(reply=TEXT))
    assert events == WHOLE
    for after in range(len(WHOLE)):
        assert play(*lived, moment(reply=TEXT), after=after) == WHOLE[after + 1 :]
        late = [lived[0], *lived[2:]]
        assert play(*late, moment(reply=TEXT), after=after) == WHOLE[after + 1 :]


@pytest.mark.parametrize(
    "lived",
    [
        [moment(delta(TEXT)), moment(RESET, delta("Something else. "))],
        [moment(delta(TEXT))],
        [moment(delta("x" * 40))],
    ],
    ids=["taken back", "longer than the reply", "not the reply"],
)
def test_a_text_that_turns_out_otherwise_is_told_at_the_end(lived: list[Moment]) -> None:
    events = play(moment(), *lived, moment(reply="It is so."), moment(reply="It is so.", a="Done."))
    numbers = [event["sequence_number"] for event in events]
    assert numbers == sorted(set(numbers))
    done = [event for event in events if event["type"] == "response.output_item.done"]
    texts = [event["item"]["content"][0]["text"] for event in done]
    assert texts == ["It is so.", "\n\nDone."]
    added = [event["item"]["id"] for event in events if event["type"].endswith("item.added")]
    assert added == [event["item"]["id"] for event in done]


def test_of_several_jobs_the_last_one_is_told_early() -> None:
    begun = [moment(), moment(reply="Two."), moment(reply="Two.", a=None, b=None)]
    both = moment(delta(TEXT, job=0), delta(TEXT, job=1), reply="Two.", a=None, b=None)
    assert text_of(play(*begun, both)) == "Two."
    events = play(*begun, both, moment(reply="Two.", a=None, b="B."))
    assert TEXT.startswith(text_of(events).removeprefix("Two.\n\nB.\n\n"))
    assert events[-1]["type"] == "response.output_text.delta"
    ended = moment(reply="Two.", a=TEXT, b="B.")
    ended.snapshot.links[0].job.settled_at = 8
    assert play(*begun, both, moment(reply="Two.", a=None, b="B."), ended) == play(ended)


def test_pieces_grow_with_their_text() -> None:
    text = "".join(str(n) for n in range(20_000))
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert len(cut) < 500
    assert len(cut[0]) == piece_end(0) == 32
    assert list(pieces("")) == []


def test_all_texts_are_taken_back() -> None:
    texts = Texts()
    texts.add(Said("a", 0, "one"))
    texts.add(Said("b", 0, "two"))
    texts.add(Said(None, reset=True))
    texts.add(Said("b", 0, "three"))
    first, second = texts.of("a"), texts.of("b")
    assert first is not None
    assert second is not None
    assert (first.known, first.attempt, second.known, second.attempt) == ("", 1, "three", 1)
