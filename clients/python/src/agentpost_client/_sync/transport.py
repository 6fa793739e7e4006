# Made by docs/client_sync.py from agentpost_client/_async/transport.py; change that.
"""Sends requests: tries them again, obeys the server's pauses, and logs both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

from agentpost_client._sync import io
from agentpost_client._sync.connections import Connections
from agentpost_client.attachments import Progress
from agentpost_client.form import FileForm
from agentpost_client.options import Options
from agentpost_client.partial import PartialFile
from agentpost_client.records import Record
from agentpost_client.retries import trouble
from agentpost_client.wire import (
    CHUNK_BYTES,
    Answer,
    Call,
    Fault,
    NoAnswer,
    api_request,
    failure,
    form_request,
    host_of,
    link_request,
    parse,
    read_answer,
    total_bytes,
)

R = TypeVar("R", bound=Record)
log = logging.getLogger("agentpost_client")


@dataclass(frozen=True, slots=True)
class Fetch:
    """Stream a link into a file. Its outcome is an `Answer` (without the bytes) or a `Fault`."""

    url: str
    target: Path
    on_progress: Progress | None

    @property
    def name(self) -> str:
        """The host only: the rest of a link is a key to the file."""
        return f"GET {host_of(self.url)}"


@dataclass(frozen=True, slots=True)
class Post:
    """Stream a form with a file to an upload's address, without the key."""

    url: str
    form: FileForm
    on_progress: Progress | None

    @property
    def name(self) -> str:
        return f"POST {host_of(self.url)}"


class Transport:
    """The way to one server. ``has_streams`` is false once it has shown to have none."""

    def __init__(
        self,
        options: Options,
        http: Connections,
        sleep: Callable[[float], object],
    ) -> None:
        self.options = options
        self.http = http
        self.sleep = sleep
        self.has_streams = True

    def ask(self, call: Call, model: type[R], *, patient: bool = False) -> R:
        """The record the API answers with. A ``patient`` call asks again after a first answer and
        has the retries that deserves (`RetryPolicy`)."""
        answer = self.answer(call, patient=patient)
        return parse(answer, model)

    def answer(self, call: Call, *, patient: bool = False) -> Answer:
        """The successful answer (a 304 is one too); raises what a failure is."""
        policy = self.options.policy
        retries = policy.retries_while_following if patient else policy.retries
        outcome = self.attempt(call, retries)
        if isinstance(outcome, Answer) and outcome.is_final:
            return outcome
        raise failure(outcome, self.options.config.url)

    def attempt(self, step: Call | Fetch | Post, retries: int) -> Answer | Fault:
        """The first success, or the last outcome when the policy gives up."""
        repeatable = step.repeatable if isinstance(step, Call) else True
        for attempt in count():
            outcome = self._carry_out(step)
            if isinstance(outcome, Answer) and outcome.is_final:
                return outcome
            pause = None
            if attempt < retries:
                pause = self.options.policy.pause(attempt, outcome, repeatable)
            if pause is None:
                return outcome
            self.pause(pause, trouble(outcome), f"{step.name}, retry {attempt + 1}")
        raise AssertionError("counting never ends")

    def pause(self, seconds: float, why: str = "", what: str = "") -> None:
        """Wait; ``why`` tells what is tried again then, if anything is."""
        if why:
            log.info("Retrying in %.1f s: %s (%s)", seconds, what, why)
            if self.options.on_retry is not None:
                self.options.on_retry(seconds, why)
        self.sleep(seconds)

    def _carry_out(self, step: Call | Fetch | Post) -> Answer | Fault:
        started = self.options.clock()
        try:
            match step:
                case Call():
                    outcome = self._ask(step)
                case Fetch():
                    outcome = self._fetch(step)
                case Post():
                    outcome = self._post(step)
        except NoAnswer as error:
            log.debug("%s failed: %s", step.name, error.fault.problem)
            return error.fault
        ms = 1000 * (self.options.clock() - started)
        log.debug("%s %d %s %.0f ms", step.name, outcome.status, outcome.request_id or "-", ms)
        return outcome

    def _ask(self, call: Call) -> Answer:
        request = api_request(self.options.config, call, self.options.timeout)
        response = self.http.request(**request)
        return read_answer(response, response.content)

    def _fetch(self, fetch: Fetch) -> Answer:
        request = link_request(fetch.url, self.options.timeout)
        with self.http.stream(**request) as response:
            if not response.is_success:
                return read_answer(response, response.read())
            total, position = total_bytes(response), 0
            with io.run(PartialFile, fetch.target) as partial:
                for chunk in response.iter_bytes(CHUNK_BYTES):
                    io.run(partial.write, chunk)
                    position += len(chunk)
                    if fetch.on_progress is not None:
                        fetch.on_progress(position, max(total, position))
                io.run(partial.keep)
            return read_answer(response, b"")

    def _post(self, post: Post) -> Answer:
        request = form_request(post.url, post.form, self.options.timeout)
        response = self.http.request(**request, content=_form_chunks(post))
        return read_answer(response, response.content)


def _form_chunks(post: Post) -> Iterator[bytes]:
    """The chunks of a form, with its progress reported as they go."""
    size, last = 0, -1
    for chunk in io.beside(post.form.chunks()):
        yield chunk
        size += len(chunk)
        position, total = post.form.progress(size)
        if post.on_progress is not None and position != last:
            post.on_progress(position, total)
            last = position
