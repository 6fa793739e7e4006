"""What each method of the clients does, written once for both.

A flow is a generator: it yields *steps* (ask the API, pause, fetch a link, do something on the
disk, hand an entry to the caller) and is sent what came of each. It never blocks or awaits, so the
same flow is driven by `Client` and by `AsyncClient`, which differ in nothing but how they carry
out a step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from agentpost_client.attachments import Outgoing, Packed, Sendable, check_upload, look_at, pack
from agentpost_client.config import Config, is_http_url
from agentpost_client.errors import ApiError, BadAnswer, WaitTimeout
from agentpost_client.form import FileForm
from agentpost_client.limits import (
    AGENT_BUSY_RETRY_SECONDS,
    IDEMPOTENCY_KEY_CHARACTERS_MAX,
    WAIT_SECONDS_MAX,
    WORK_LIST_DEFAULT,
)
from agentpost_client.models import (
    Account,
    Entry,
    EntryPage,
    File,
    Message,
    Upload,
    UploadTicket,
    Work,
    WorkItem,
    WorkList,
)
from agentpost_client.partial import place_for
from agentpost_client.records import Record
from agentpost_client.retries import RetryPolicy
from agentpost_client.wire import Answer, Call, Fault, failure, json_body, parse, path_to

T = TypeVar("T")
R = TypeVar("R", bound=Record)

STALE_LINK_STATUSES = frozenset({403, 412})
"""A file link that expired, or whose file changed since (spec: File; design: Links)."""
EMPTY_POLL_SECONDS = 1.0
"""A long poll with nothing new that came back sooner was not held; don't ask in a tight loop."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for that many seconds; ``why`` tells what is tried again then, if anything is."""

    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Stream a link into a file. Its outcome is an `Answer` (without the bytes) or a `Fault`."""

    url: str
    target: Path


@dataclass(frozen=True, slots=True)
class Post:
    """Stream a form with a file to an upload's address, without the key: an `Answer` or `Fault`."""

    url: str
    form: FileForm


@dataclass(frozen=True, slots=True)
class Local:
    """Call a function that blocks on the disk; its value is the outcome, its exception passes."""

    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand an entry to whoever iterates."""

    entry: Entry


Step: TypeAlias = Call | Pause | Fetch | Post | Local | Emit
Flow: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Context:
    """What all flows of one client share. ``clock`` gives monotonic seconds."""

    config: Config
    policy: RetryPolicy
    clock: Callable[[], float]


def send(
    context: Context,
    message: str,
    files: Sequence[Sendable],
    conversation: str | None,
    metadata: Mapping[str, str] | None,
    idempotency_key: str | None,
    webhook_endpoint_id: str | None,
    upload_ids: Sequence[str] = (),
) -> Flow[Message]:
    """Create a message; the same key covers every try, also those after ``agent_busy``."""
    headers = {"Idempotency-Key": _checked_key(idempotency_key)}
    packed: Packed = (yield Local(partial(pack, tuple(files)))) if files else Packed([], [])
    attached = list(upload_ids)
    for outgoing in packed.uploads:
        ready = yield from _upload(context, outgoing)
        attached.append(ready.upload_id)
    fields = {
        "message": message or None,
        "files": packed.inline or None,
        "upload_ids": attached or None,
        "conversation": conversation,
        "metadata": dict(metadata) if metadata else None,
        "webhook_endpoint_id": webhook_endpoint_id,
    }
    body = json_body({name: value for name, value in fields.items() if value is not None})
    call = Call("POST", path_to("messages"), body=body, headers=headers)
    for attempt in count():
        sent = yield from _ask(context, call, Message)
        if not sent.is_agent_busy or attempt >= context.policy.busy_retries:
            return sent
        pause = sent.retry_after_seconds or AGENT_BUSY_RETRY_SECONDS
        yield Pause(pause, "the agent is busy with another message")
    raise AssertionError("counting never ends")


def upload(context: Context, file: Sendable) -> Flow[Upload]:
    """Send a large file ahead; its id goes with one message."""
    outgoing: Outgoing = yield Local(partial(look_at, file))
    check_upload(outgoing)
    return (yield from _upload(context, outgoing))


def _upload(context: Context, outgoing: Outgoing) -> Flow[Upload]:
    """Create, post, complete. Each may be sent again: a second create is a new upload and a second
    post replaces the first."""
    wanted = {"filename": outgoing.name, "size": outgoing.size}
    if outgoing.content_type is not None:
        wanted["content_type"] = outgoing.content_type
    create = Call("POST", path_to("uploads"), body=json_body(wanted))
    ticket = yield from _ask(context, create, UploadTicket)
    if not is_http_url(ticket.url):
        raise BadAnswer(f"The address to post {outgoing.name} to is not an http address.")
    form = FileForm(ticket.fields, outgoing)
    outcome = yield from _try(context, Post(ticket.url, form), context.policy.retries)
    if not (isinstance(outcome, Answer) and outcome.is_success):
        raise failure(outcome, ticket.url)
    complete = Call("POST", path_to("uploads", ticket.upload_id, "complete"))
    return (yield from _ask(context, complete, Upload))


def get(context: Context, message_id: str, wait: int = 0) -> Flow[Message]:
    """The message as it is, or as it is after the next change within ``wait`` seconds."""
    return (yield from _ask(context, _get_call(message_id, wait), Message))


def wait(context: Context, message_id: str, timeout: float | None) -> Flow[Message]:
    """Long-poll until ``final``; raises `WaitTimeout` after ``timeout`` seconds."""
    started = context.clock()
    message = yield from get(context, message_id)
    while not message.final:
        asked, before = context.clock(), message
        left = WAIT_SECONDS_MAX if timeout is None else started + timeout - asked
        if timeout is not None and left <= 0:
            raise WaitTimeout(message, timeout)
        call = _get_call(message_id, min(WAIT_SECONDS_MAX, ceil(left)))
        message = yield from _poll(context, call, Message)
        if message.raw == before.raw and context.clock() - asked < EMPTY_POLL_SECONDS:
            yield Pause(EMPTY_POLL_SECONDS)
    return message


def follow(
    context: Context, message_id: str, cursor: str | None = None, after: int = 0
) -> Flow[None]:
    """Emit the log's entries until the message has nothing more to report.

    Only one wait per message is allowed; while somebody else holds it (``poll_in_progress``) this
    one tries again at growing distances. Nothing is lost by that: the log is read from the cursor.
    """
    last_seq, refusals = after, 0
    ask = _ask
    while True:
        asked = context.clock()
        call = _events_call(message_id, cursor)
        try:
            page = yield from ask(context, call, EntryPage)
        except ApiError as error:
            if error.code != "poll_in_progress":
                raise
            cursor = error.cursor or cursor
            pause = EMPTY_POLL_SECONDS + context.policy.backoff(refusals)
            yield Pause(pause, "another reader waits for this message")
            refusals += 1
            continue
        ask, refusals = _poll, 0
        for entry in page.data:
            # A fresh cursor after an expired one may start before what was already read.
            if entry.seq > last_seq:
                last_seq = entry.seq
                reached = page.cursor if entry is page.data[-1] else cursor
                yield Emit(replace(entry, cursor=reached))
        cursor = page.cursor
        if page.done and not page.has_more:
            return
        if not page.data and context.clock() - asked < EMPTY_POLL_SECONDS:
            yield Pause(EMPTY_POLL_SECONDS)


def me(context: Context) -> Flow[Account]:
    return (yield from _ask(context, Call("GET", path_to("me")), Account))


def work(context: Context, work_id: str, from_char: int = 0) -> Flow[Work]:
    query = {"from_char": str(from_char)} if from_char else {}
    return (yield from _ask(context, Call("GET", path_to("work", work_id), query), Work))


def work_list(context: Context, limit: int = WORK_LIST_DEFAULT) -> Flow[tuple[WorkItem, ...]]:
    call = Call("GET", path_to("work"), {"limit": str(limit)})
    return (yield from _ask(context, call, WorkList)).data


def stop(context: Context, work_id: str) -> Flow[Work]:
    """Not retried although the server takes it twice: only keyed POSTs are sent again."""
    call = Call("POST", path_to("work", work_id, "stop"), repeatable=False)
    return (yield from _ask(context, call, Work))


def file(context: Context, file_id: str) -> Flow[File]:
    return (yield from _ask(context, Call("GET", path_to("files", *file_id.split("/"))), File))


def download(context: Context, wanted: File | str, into: Path) -> Flow[Path]:
    """Fetch a file by its link; a stale link is replaced by a fresh one, once."""
    found = wanted if isinstance(wanted, File) else (yield from file(context, wanted))
    for is_last in (False, True):
        if not is_http_url(found.url):
            raise BadAnswer(f"The link of {found.file_id} is not an http address.")
        target = yield Local(partial(place_for, found.name, into))
        outcome = yield from _try(context, Fetch(found.url, target), context.policy.retries)
        if isinstance(outcome, Answer) and outcome.is_success:
            return Path(target)
        stale = isinstance(outcome, Answer) and outcome.status in STALE_LINK_STATUSES
        if is_last or not stale:
            break
        found = yield from file(context, found.file_id)
    # Of the link only the host is shown: the rest of it is a key to the file.
    link = urlsplit(found.url)
    raise failure(outcome, f"{link.scheme}://{link.hostname}")


def _ask(context: Context, call: Call, model: type[R]) -> Flow[R]:
    return (yield from _request(context, call, model, context.policy.retries))


def _poll(context: Context, call: Call, model: type[R]) -> Flow[R]:
    """Ask again after a first answer, with the patience that deserves (`RetryPolicy`)."""
    return (yield from _request(context, call, model, context.policy.retries_while_following))


def _request(context: Context, call: Call, model: type[R], retries: int) -> Flow[R]:
    outcome = yield from _try(context, call, retries if call.repeatable else 0)
    if isinstance(outcome, Answer) and outcome.is_success:
        return parse(outcome, model)
    raise failure(outcome, context.config.url)


def _try(context: Context, step: Call | Fetch | Post, retries: int) -> Flow[Answer | Fault]:
    """The first success, or the last outcome when the policy gives up."""
    for attempt in count():
        outcome: Answer | Fault = yield step
        if isinstance(outcome, Answer) and outcome.is_success:
            return outcome
        pause = context.policy.pause(attempt, outcome) if attempt < retries else None
        if pause is None:
            return outcome
        yield Pause(pause, _trouble(outcome))
    raise AssertionError("counting never ends")


def _trouble(outcome: Answer | Fault) -> str:
    """Why it is tried again, in a few words."""
    if isinstance(outcome, Fault):
        return "server unreachable"
    return "too many requests" if outcome.status == 429 else f"server error {outcome.status}"


def _get_call(message_id: str, wait: int) -> Call:
    query = {"wait": str(wait)} if wait else {}
    return Call("GET", path_to("messages", message_id), query, hold_seconds=wait)


def _events_call(message_id: str, cursor: str | None) -> Call:
    query = {"wait": str(WAIT_SECONDS_MAX)} | ({"cursor": cursor} if cursor else {})
    path = path_to("messages", message_id, "events")
    return Call("GET", path, query, hold_seconds=WAIT_SECONDS_MAX)


def _checked_key(key: str | None) -> str:
    """A new key, or the caller's own. One that the server would cut or take for none is refused:
    two of them could then mean the same message."""
    if key is None:
        return uuid4().hex
    usable = key.strip() == key and key.isascii() and key.isprintable()
    if not key or not usable or len(key) > IDEMPOTENCY_KEY_CHARACTERS_MAX:
        raise ValueError(
            "idempotency_key must be 1 to "
            f"{IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters without outer blanks"
        )
    return key
