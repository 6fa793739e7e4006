"""One probe of a deployment: the samples that checks share, and the resources to delete at the end.

A sample is made when a check first needs it and kept, so that few messages serve many checks. Only
the check it belongs to judges how it was made; for the others a missing sample is a reason not to
be checked.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import httpx2

from agentpost.domain.limits import MEBIBYTE
from agentpost.verify.caller import Caller, Pause
from agentpost.verify.exchange import Exchange
from agentpost.verify.ownership import PATH, Works, works_of
from agentpost.verify.receiver import Receiver
from agentpost.verify.verdicts import Difference, Gone, Json, NotChecked, NotProved, summary
from agentpost.verify.wire import Wire

S = TypeVar("S")
HOLD_SECONDS: Final = 20
"""Of one held read; shorter than the most allowed, for the proxies on the way."""
GREETING: Final = "Hello"
JOB_PATH: Final = "/job"
"""Where our receiver gets the events of the job."""
CSV: Final = b"month,revenue\nJan,10\nFeb,14\nMar,12\nApr,19\n"
DOWNLOAD_BYTES_MAX: Final = 50 * MEBIBYTE
PROGRAM: Final = b"\x7fELF\x02\x01\x01" + bytes(57)
"""The beginning of a Linux program, and as harmless as 64 bytes can be."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command.

    ``nonce``: part of every name, so that two probes never collide. ``patience``: seconds to wait
    for the agent or a delivery. ``hooks``: receives webhooks when they are to be proved.
    ``open_http``: see `Wire`.
    """

    url: str
    key: str
    nonce: str
    patience: float
    pause: Pause
    second_key: str | None = None
    hooks: Receiver | None = None
    open_http: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient


@dataclass
class Created:
    """Resources this probe created: message ids with their latest state, and endpoints.

    ``works_before``: the newest works of the account before the first message, None when they
    are not known. ``looked``: whether they were asked for. ``unanswered``: there may be an endpoint
    whose creation was cut off before its answer."""

    works_before: Works | None = None
    looked: bool = False
    messages: dict[str, Json] = field(default_factory=dict)
    endpoints: list[str] = field(default_factory=list)
    unanswered: bool = False


class Probe:
    """One run of the checks. Close it at the end, after `leaving.leave`."""

    def __init__(self, options: Options) -> None:
        self.exchanges: list[Exchange] = []
        self.gone = False
        self.created = Created()
        self.nonce = options.nonce
        self.patience = options.patience
        self.hooks = options.hooks
        self._wire = Wire(options.open_http)
        self._pause = options.pause
        self._samples: dict[str, Any] = {}
        self._conversations = 0
        self.caller = Caller(self._wire, options.url, options.key, self.exchanges, options.pause)
        self._second = (
            Caller(self._wire, options.url, options.second_key, self.exchanges, options.pause)
            if options.second_key
            else None
        )

    def close(self) -> None:
        """Release the connections."""
        self._wire.close()

    @property
    def second(self) -> Caller:
        """The other key; raises `NotChecked` when there is none."""
        if self._second is None:
            raise NotChecked("it needs another key of this server: --second-key")
        return self._second

    @property
    def has_second(self) -> bool:
        """Whether there is another key."""
        return self._second is not None

    # --- messages ---------------------------------------------------------------------------------
    def post(
        self,
        body: Any,
        key: str | None = None,
        caller: Caller | None = None,
        wait: int | None = None,
    ) -> Exchange:
        """`POST /v1/messages` just so, held up to ``wait`` seconds; a message that comes of it is
        counted and remembered.

        For bodies that must be refused: what makes a message goes through `send`."""
        self._look_at_works()
        headers = {"Idempotency-Key": key} if key is not None else {}
        path = "/v1/messages" if wait is None else f"/v1/messages?wait={wait}"
        exchange = (caller or self.caller).call("POST", path, body=body, headers=headers)
        return self.remember(exchange)

    def send(
        self,
        text: str,
        key: str | None = None,
        caller: Caller | None = None,
        wait: int | None = None,
        **fields: Any,
    ) -> Exchange:
        """Send a message in a conversation of its own: none waits for another one's turn, and
        nothing gets into the conversations of the key."""
        self._conversations += 1
        own = f"verify-{self.nonce}-{self._conversations}"
        return self.post({"message": text, "conversation": own, **fields}, key, caller, wait)

    def _look_at_works(self) -> None:
        """List the works before the first message: the probe must not delete those."""
        if self.created.looked:
            return
        with suppress(Difference):  # judged by the checks of works; nothing will be deleted
            self.created.works_before = works_of(self.caller.call("GET", PATH))
        self.created.looked = True

    def read(self, message_id: str, wait: int = 0) -> Exchange:
        """`GET /v1/messages/{id}`, held up to ``wait`` seconds."""
        path = f"/v1/messages/{message_id}" + (f"?wait={wait}" if wait else "")
        return self.remember(self.caller.call("GET", path, held_seconds=wait))

    def final(self, message_id: str) -> Json:
        """The message once it is final; raises `NotChecked` when that takes too long."""
        left = self.patience
        while True:
            exchange = self.read(message_id, max(1, min(HOLD_SECONDS, int(left))))
            body = usable(exchange, 200)
            if body.get("final") is True:
                return body
            left -= max(exchange.took, 0.5)
            if left <= 0:
                reported = f"{body.get('status')} after {self.patience:g} s (--timeout)"
                raise NotChecked(f"the message it needs was still {reported}")
            if exchange.took < 0.2:  # a server that does not hold: do not ask in a loop
                self._pause(0.5)

    def remember(self, exchange: Exchange) -> Exchange:
        """Remember the message that this answer carries, if it does."""
        body = exchange.json()
        if exchange.status in (200, 201) and isinstance(body, dict):
            message_id = body.get("id")
            if isinstance(message_id, str) and body.get("object") == "message":
                self.created.messages[message_id] = body
        return exchange

    # --- samples ----------------------------------------------------------------------------------
    def sample(self, name: str, make: Callable[[], S]) -> S:
        """The sample of that name, made at the first call; when that failed, `NotChecked` for all
        further ones."""
        if name not in self._samples:
            try:
                self._samples[name] = make()
            except Gone:
                raise
            except NotChecked as error:
                self._samples[name] = error
            except Difference as error:  # told once, by the check that came first
                self._samples[name] = NotChecked(f"the {name} it needs is missing: {error}")
                raise
        made = self._samples[name]
        if isinstance(made, NotChecked):
            raise made
        return cast("S", made)

    def greeting_sent(self) -> Exchange:
        """The answer to the message most checks look at; it may be anything."""
        return self.sample(
            "answer to a message", lambda: self.send(GREETING, self.key_named("greeting"))
        )

    def greeting(self) -> Json:
        """The message most checks look at, final."""
        return self.sample("message", lambda: self.final(usable(self.greeting_sent(), 201)["id"]))

    def job_message(self) -> Json:
        """A message the agent started a job for, as it was first answered."""

        def make() -> Json:
            fields = {"files": [inline("sales.csv", CSV)], **self._to_hook()}
            sent = usable(self.send("Chart revenue by month", **fields), 201)
            if not sent.get("jobs"):
                sent = self.final(sent["id"])
            if not sent.get("jobs"):
                raise NotChecked("the agent started no job when asked for a chart of a CSV file")
            return sent

        return self.sample("message with a job", make)

    def job_done(self) -> Json:
        """The same message, final."""
        return self.sample("finished job", lambda: self.final(self.job_message()["id"]))

    def made_file(self) -> Json:
        """A file the agent made."""

        def make() -> Json:
            files: list[Json] = self.job_done().get("files") or []
            if not files:
                raise NotChecked("the agent made no file")
            smallest = min(files, key=lambda file: int(file["size"]))
            if smallest["size"] > DOWNLOAD_BYTES_MAX:
                raise NotChecked("the files the agent made are too large to be fetched for a check")
            return smallest

        return self.sample("file", make)

    def _to_hook(self) -> Json:
        """What sends the job's events to us alone, if webhooks are to be proved and can be."""
        if self.hooks is None:
            return {}
        with suppress(NotProved):
            return {"webhook_endpoint_id": self.hook_at(JOB_PATH)["id"]}
        return {}

    def hook_at(self, path: str, *events: str) -> Json:
        """An endpoint that leads to our receiver. Subscribed to nothing but a rare event, unless
        ``events`` says so, it gets only what names it. Raises `NotChecked` without a receiver."""
        if self.hooks is None:
            raise NotChecked(
                "it needs an address here that the deployment reaches: --hooks-url, --hooks-port"
            )
        fields = {"url": self.hooks.url + path, **({"events": list(events)} if events else {})}
        return self.sample(
            f"endpoint at {path}", lambda: usable(self.endpoint_created("hook", **fields), 201)
        )

    def endpoint_created(self, name: str, **fields: Any) -> Exchange:
        """Create a webhook endpoint, to be removed at the end; the answer may be anything.

        Its address leads nowhere, or to our receiver, and its event is rare: nothing of the account
        is sent to others."""
        nowhere = f"https://agentpost-verify-{self.nonce}.invalid"
        body = {
            "url": f"{self.hooks.url if self.hooks is not None else nowhere}/{name}",
            "events": ["job.expired"],
            "description": f"agentpost verify {self.nonce}; may be deleted",
            **fields,
        }
        self.created.unanswered = True
        exchange = self.remember_endpoint(self.caller.call("POST", "/v1/webhooks", body=body))
        self.created.unanswered = False
        return exchange

    def remember_endpoint(self, exchange: Exchange) -> Exchange:
        """Remember an endpoint that this answer says was created."""
        body = exchange.json()
        if exchange.status == 201 and isinstance(body, dict) and isinstance(body.get("id"), str):
            self.created.endpoints.append(body["id"])
        return exchange

    def remove_endpoint(self, endpoint_id: str) -> Exchange:
        """Delete an endpoint; once it is gone, it is no longer ours to remove."""
        exchange = self.caller.call("DELETE", f"/v1/webhooks/{endpoint_id}")
        if exchange.status == 200 and endpoint_id in self.created.endpoints:
            self.created.endpoints.remove(endpoint_id)
        return exchange

    def endpoint_first(self) -> Exchange:
        """The answer that created the endpoint most checks look at."""
        return self.sample("answer to a webhook", lambda: self.endpoint_created("first"))

    def endpoint(self) -> Json:
        """The endpoint most checks look at, as it was created."""
        return self.sample("webhook endpoint", lambda: usable(self.endpoint_first(), 201))

    def key_named(self, name: str) -> str:
        """An Idempotency-Key of this probe."""
        return f"agentpost-verify-{self.nonce}-{name}"


def usable(exchange: Exchange, status: int) -> Json:
    """The body of an answer that another check judges; `NotChecked` when it is of no use here."""
    body = exchange.json()
    if exchange.status != status or not isinstance(body, dict) or not _has_id(body):
        raise NotChecked(f"{exchange.line} answered {summary(exchange)}")
    return body


def _has_id(body: Mapping[str, Any]) -> bool:
    return any(isinstance(body.get(name), str) for name in ("id", "upload_id", "work_id", "object"))


def inline(name: str, data: bytes) -> Json:
    """A file inside a message (spec: InlineFile)."""
    return {"name": name, "base64": base64.b64encode(data).decode()}
