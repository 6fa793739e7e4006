"""`agentpost verify`: run the contract's checks against any deployment and tell what is proved.

Exit codes: 0 nothing failed, 1 something failed, 2 it could not begin (called wrongly, nobody
there, key refused), 130 interrupted. Everything it created is deleted in every case, unless a
second Ctrl-C stops the cleanup.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from secrets import token_hex
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from agentpost.cli import exits
from agentpost.cli.commands import command
from agentpost.cli.errors import fail
from agentpost.cli.printing import Result, screen

if TYPE_CHECKING:
    from agentpost.cli.show import Screen
    from agentpost_verify.probe import Probe
    from agentpost_verify.receiver import Receiver
    from agentpost_verify.running import Group, Result as CheckResult

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""SIGTERM too: it is what a CI system sends to a run that it cancels."""
EXIT_HELP = (
    "Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, no server or bad key, "
    "130 interrupted."
)
_PORT_MAX = 65_535


@command(
    "verify",
    "agentpost verify --url https://agents.example.com --key svc_key_…",
    "agentpost verify --only messages --json",
    epilog=EXIT_HELP,
)
def verify(
    url: Annotated[
        str | None, typer.Option(help="Address of the server; by default AGENTPOST_URL.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="API key; by default AGENTPOST_KEY.")] = None,
    second_key: Annotated[
        str | None, typer.Option(help="Second key, to check that keys see only their own data.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="Only this group; repeatable.")
    ] = None,
    list_checks: Annotated[bool, typer.Option("--list", help="List the checks and exit.")] = False,
    hooks_url: Annotated[
        str | None, typer.Option(help="Address at which the server reaches --hooks-port.")
    ] = None,
    hooks_port: Annotated[
        int | None, typer.Option(min=1, max=_PORT_MAX, help="Receive webhooks on this port.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, max=3600, help="Seconds to wait for the agent or a webhook.")
    ] = 60.0,
) -> Result:
    """Check that a deployment keeps the API's contract, from outside."""
    from agentpost.extras import MissingExtra, require

    try:
        require("verify", "`agentpost verify` checks a server")
    except MissingExtra as error:
        fail(str(error), exits.USAGE)
    groups = _choose_groups(only or [])
    if list_checks:
        return list_result(groups)
    with ExitStack() as ends:
        hooks = _receiver(ends, hooks_url, hooks_port)
        make = partial(_make_probe, url, key, second_key, timeout, hooks)
        return Result(code=_run(make, groups))


def _run(make: Callable[[], Probe], groups: Sequence[Group]) -> int:
    """Carry out the checks on a new probe and tell; the exit code."""
    from agentpost_verify.cleanup import leave
    from agentpost_verify.running import Outcome, Unusable, knock, run

    output_screen = screen()
    results: list[CheckResult] = []
    fault = ""

    def tell(result: CheckResult) -> None:
        show_result(output_screen, result, results)
        results.append(result)
        if interruption.pressed:
            raise KeyboardInterrupt

    with Interruption() as interruption:
        probe = make()
        try:
            knock(probe)
        except Unusable as error:
            fail(str(error), exits.USAGE)
        announce(output_screen, probe, groups)
        try:
            with output_screen.waiting("Checking…"):
                fault = run(probe, groups, tell)
        except KeyboardInterrupt:
            pass
        finally:
            interruption.hold_off()
            with output_screen.waiting("Taking away what was made…"):
                left = leave(probe)
        summary = partial(close, output_screen, probe, results, left)
        Result(report(probe, results, left), summary).print()
        if interruption.pressed:
            return exits.INTERRUPTED
        if fault:
            fail(fault, exits.USAGE)
    return exits.FAILED if count(results)[Outcome.FAILED] else 0


class Interruption:
    """A context in which Ctrl-C and SIGTERM raise `KeyboardInterrupt`, and are remembered.

    An exception that is raised between two lines of somebody else's code can be lost there (in a
    finalizer, for one), so what decides is ``pressed``. After `hold_off` the first further signal
    is only remembered: cleaning up goes on. The next one raises again.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._spared = 0
        self._before: dict[signal.Signals, Any] = {}

    def hold_off(self) -> None:
        """Let one more signal pass without an exception."""
        self._spared = 1

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._spared:
            self._spared -= 1
            return
        raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if current_thread() is not main_thread():  # only that one may set handlers
            return self
        for name in SIGNALS:
            before = signal.getsignal(name)
            if before is not signal.SIG_IGN:  # a shell's background job; it is to stay ignored
                self._before[name] = before
                signal.signal(name, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for name, before in self._before.items():
            signal.signal(name, before)


# --- what was asked for ---------------------------------------------------------------------------
def _choose_groups(names: Sequence[str]) -> Sequence[Group]:
    from agentpost_verify.running import GROUPS

    all_names = [group.name for group in GROUPS]
    for name in names:
        if name not in all_names:
            raise typer.BadParameter(f"there is no group {name!r}; groups: {', '.join(all_names)}")
    return [group for group in GROUPS if not names or group.name in names]


def _make_probe(
    url: str | None,
    key: str | None,
    second_key: str | None,
    timeout: float,
    hooks: Receiver | None,
) -> Probe:
    import httpx2

    from agentpost.cli.proxied_http import open_http
    from agentpost_client.config import resolve_config
    from agentpost_client.errors import ConfigError
    from agentpost_verify.probe import Probe

    try:
        config = resolve_config(url, key)
        second = resolve_config(config.url, second_key).key if second_key else None
        tls = httpx2.create_ssl_context()  # takes 30 ms; every request has a client of its own
        http = partial(open_http, httpx2.AsyncClient, config.url, verify=tls)
        http()
        nonce = token_hex(6)
        return Probe(config.url, config.key, nonce, timeout, time.sleep, second, hooks, http)
    except ConfigError as error:  # may be of a proxy of the environment
        fail(str(error), exits.USAGE)


def _receiver(ends: ExitStack, url: str | None, port: int | None) -> Receiver | None:
    """The running receiver, which ``ends`` will stop; None when none is wanted."""
    from agentpost_client.addresses import is_http_url
    from agentpost_verify.receiver import receiving

    if url is None and port is None:
        return None
    if url is None or port is None:
        raise typer.BadParameter("--hooks-url and --hooks-port go together")
    if not is_http_url(url):
        raise typer.BadParameter("--hooks-url must be an http:// or https:// address")
    try:
        return ends.enter_context(receiving(port, url))
    except OSError as error:
        fail(f"cannot listen on port {port}: {error.strerror or error}", exits.USAGE)


STYLES = {"proved": "green", "failed": "red", "not checked": "yellow"}
MARKS = {"proved": "✓", "failed": "✗", "not checked": "–"}


def announce(screen: Screen, probe: Probe, groups: Sequence[Group]) -> None:
    """The plan of the run, and what it may cost."""
    from agentpost_verify.running import list_checks, planned

    messages = planned(groups, probe)
    checks = len(list_checks(groups))
    plan = f"{_count(checks, 'check')}, {_count(messages, 'message')} to its agent"
    screen.line(f"{probe.url}: {plan}.")
    if messages:
        note = "The agent may use credits, and endpoints of the account get the messages' events."
        screen.line(note, "dim")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def show_result(screen: Screen, result: CheckResult, before: Sequence[CheckResult]) -> None:
    """The lines of one result, the first of a group below the group's name."""
    if not before or before[-1].check.group is not result.check.group:
        screen.line(f"{result.check.group.name} · {result.check.group.about}", "bold")
    name = f"{MARKS[result.outcome]} {result.check.name}"
    style = STYLES[result.outcome]
    if result.why:
        screen.line(f"{name}: not checked: {result.why}", style, indent=2)
        return
    screen.line(f"{name}: {result.check.proves}", style, indent=2)
    if result.outcome == "failed":
        screen.line(f"rule: {result.check.source}", indent=6)
        screen.line(f"expected: {result.expected}", indent=6)
        screen.line(f"got: {result.got}", indent=6)
        if result.request:
            suffix = f" ({result.request_id})" if result.request_id else ""
            screen.line(f"request: {result.request}{suffix}", "dim", indent=6)


def close(
    screen: Screen, probe: Probe, results: Sequence[CheckResult], left: Sequence[str]
) -> None:
    """The summary, and what was done to the account; ``left`` stays behind."""
    counts = count(results)
    summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in counts)
    screen.line(summary, f"bold {STYLES['failed' if counts['failed'] else 'proved']}")
    messages = _count(len(probe.messages), "message")
    screen.line(f"{messages} sent, {_count(len(probe.exchanges), 'request')} in all.", "dim")
    for each in left:
        screen.line(f"left behind: {each}", "yellow")


def count(results: Sequence[CheckResult]) -> dict[str, int]:
    """How many checks ended in which way."""
    from agentpost_verify.running import Outcome

    order = (Outcome.PROVED, Outcome.NOT_CHECKED, Outcome.FAILED)
    return {each: sum(result.outcome is each for result in results) for each in order}


def report(probe: Probe, results: Sequence[CheckResult], left: Sequence[str]) -> dict[str, Any]:
    """Everything, for machines."""
    counts = {name.replace(" ", "_"): number for name, number in count(results).items()}
    return {
        "url": probe.url,
        **counts,
        "messages_sent": len(probe.messages),
        "requests_sent": len(probe.exchanges),
        "left_behind": list(left),
        "checks": [dict(_fields(result)) for result in results],
    }


def _fields(result: CheckResult) -> Iterator[tuple[str, Any]]:
    check = result.check
    yield from (("group", check.group.name), ("name", check.name), ("proves", check.proves))
    yield from (("source", check.source), ("outcome", result.outcome.replace(" ", "_")))
    yield ("seconds", round(result.seconds, 3))
    if result.why:
        yield ("why", result.why)
    if result.expected:
        yield from (("expected", result.expected), ("got", result.got))
        yield from (("request", result.request or None), ("request_id", result.request_id))


def list_result(groups: Sequence[Group]) -> Result:
    """The checks there are."""
    from agentpost_verify.running import list_checks

    checks = list_checks(groups)

    def show() -> None:
        output_screen = screen()
        for group in groups:
            messages = f" · sends: {', '.join(group.sends)}" if group.sends else ""
            output_screen.line(f"{group.name} · {group.about}{messages}", "bold")
            for check in checks:
                if check.group is group:
                    output_screen.line(f"{check.name}: {check.proves} ({check.source})", indent=2)

    fields = ("name", "proves", "source")
    records = [
        {"group": check.group.name, **{name: getattr(check, name) for name in fields}}
        for check in checks
    ]
    return Result(records, show)
