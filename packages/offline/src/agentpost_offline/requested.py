"""What was started in a conversation, and which of it was stopped or has failed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import Json, Started, Turn, WorkRef
from agentpost_offline.frame import Frame
from agentpost_offline.grammar.edits import ANSWERED, Work
from agentpost_offline.making import catalogue
from agentpost_offline.scope import frame_of

_KEPT = "requests"
_AGAIN = "Try again"
_MOST = 8
_TEXT_CHARACTERS = 20_000
"""A longer text that came with a request is found again in its message."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job that was started, and what to start it with once more.

    Args:
        job: its id.
        work: the work it writes to.
        frame: the `Frame` as JSON.
        title: what it is called.
        version: which result of its work it makes.
        message: the message that asked for it.
        waits: whether it had to wait when it was started.
        long: whether the frame's text is left out, because it stands in the message.
    """

    job: str
    work: str
    frame: dict[str, Any]
    title: str
    version: int = 1
    message: str = ""
    waits: bool = False
    long: bool = False

    @property
    def id(self) -> str:
        """Its job, or of one that was refused the message and the title."""
        return self.job or f"{self.message} {self.title}"

    @property
    def read_frame(self) -> Frame:
        """The frame."""
        result = frame_of(self.frame)
        assert result is not None, "only requests whose frame can be read are found"
        return result


def remember(turn: Turn, started: Started, frame: dict[str, Any], title: str, version: int) -> None:
    """Keep what was started; a later request of the same work takes the place of the earlier."""
    long = len(str(frame.get("text", ""))) > _TEXT_CHARACTERS
    result = Request(
        started.job_id, started.work_id, {**frame, "text": ""} if long else frame, title, version,
        turn.message.message_id, started.state == "queued", long,
    )  # fmt: skip
    others = [one for one in every(turn) if not (one.work and one.work == result.work)]
    listing: list[Json] = [msgspec.to_builtins(one) for one in [*others, result][-_MOST:]]
    turn.state[_KEPT] = listing


def forget_refused(turn: Turn, request: Request) -> None:
    """A request that was refused is started now: the new one takes its place."""
    if not request.job:
        listing: list[Json] = [msgspec.to_builtins(o) for o in every(turn) if o.id != request.id]
        turn.state[_KEPT] = listing


def every(turn: Turn) -> list[Request]:
    """What was started last, the latest last."""
    data = turn.state.get(_KEPT)
    try:
        result = msgspec.convert(data, list[Request]) if data is not None else []
    except msgspec.ValidationError:
        return []  # written by another version
    return [one for one in result if frame_of(one.frame) is not None]


def unfinished_requests(turn: Turn) -> list[Request]:
    """What was started, does not run and left no result, the latest last."""
    running = {job.job_id for job in turn.running}
    ended_well = {one.id for one in finished(turn)}
    return [one for one in every(turn) if one.job not in running and one.id not in ended_well]


def has_failed_last(turn: Turn) -> bool:
    """Whether what was asked for last left no result, so that "that" has no meaning."""
    last = every(turn)[-1:]
    return bool(last) and turn.state.get("answered") is None and (
        unfinished_requests(turn)[-1:] == last
    )  # fmt: skip


def finished(turn: Turn) -> list[Request]:
    """What was started and left its result, the latest last."""
    results = {work.work_id: work.state.get("version") for work in turn.works}

    def ended_well(one: Request) -> bool:
        version = results.get(one.work)
        return isinstance(version, int) and version >= one.version

    return [one for one in every(turn) if ended_well(one)]


def has_ended(turn: Turn, request: Request) -> bool:
    """Whether a job of the request's message has ended: a stopped one leaves nothing behind."""
    return any(one.role == "job" and one.message_id == request.message for one in turn.history)


def latest(requests: Sequence[Request]) -> list[Request]:
    """Those that the last message asked for which has any."""
    return [one for one in requests if one.message == requests[-1].message]


def request_to_repeat(turn: Turn) -> Request | None:
    """The unfinished request whose title stands behind "Try again:", which the web app's button
    sends; the latest of that title."""
    begin, colon, title = turn.message.text.strip().partition(":")
    if not colon or begin.casefold() != _AGAIN.casefold():
        return None
    same = [one for one in unfinished_requests(turn) if one.title == title.strip()]
    return same[-1] if same else None


def remember_answer(turn: Turn, frame: dict[str, Any]) -> None:
    """Keep an answer, and the ones before it that no job came after."""
    before, last = turn.state.get("answered_before"), turn.state.get("answered")
    answers = [*(before if isinstance(before, list) else []), *([last] if last else [])]
    turn.state["answered_before"] = answers[-_MOST:]
    turn.state["answered"] = frame
    message, count = _answered_in(turn)
    same = message == turn.message.message_id
    turn.state["answered_in"] = [turn.message.message_id, min(count + 1, _MOST) if same else 0]


def _answered_in(turn: Turn) -> tuple[str, int]:
    """The message that was answered last, and how many other answers it got before its last."""
    match turn.state.get("answered_in"):
        case [str(message), int(count)]:
            return message, count
    return "", 0


def forget_answers(turn: Turn) -> None:
    """What is made next is changed, and no answer before it."""
    for key in ("answered", "answered_before", "answered_in"):
        turn.state.pop(key, None)


def works_of(turn: Turn) -> list[Work]:
    """What may be changed, newest first: what runs, the last answer when it came last, and the
    works."""
    results = [work for one in turn.works if (work := _work(one)) is not None]
    last = frame_of(turn.state.get("answered"))
    if last is not None:
        before = turn.state.get("answered_before")
        answers = [frame_of(one) for one in before] if isinstance(before, list) else []
        earlier = tuple(one for one in answers if one is not None)
        beside = min(_answered_in(turn)[1], len(earlier))
        results.insert(0, Work(ANSWERED, last, earlier, beside=beside))
    running = {job.job_id for job in turn.running}
    return [Work(one.job, one.read_frame) for one in every(turn) if one.job in running][
        ::-1
    ] + results


def _work(work: WorkRef) -> Work | None:
    frame = frame_of(work.state.get("frame"))
    if frame is None:
        return None
    listing = work.state.get("earlier")
    earlier = [frame_of(one) for one in listing] if isinstance(listing, list) else []
    maker = catalogue.MAKERS.get(frame.thing) if frame.thing is not None else None
    return Work(
        work.work_id, frame, tuple(one for one in earlier if one is not None),
        maker.usual if maker is not None else (),
    )  # fmt: skip
