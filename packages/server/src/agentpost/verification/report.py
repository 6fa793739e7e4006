"""The output of `agentpost verify`: a line for each check, a summary, or one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agentpost.cli.printing import print_json

if TYPE_CHECKING:
    from agentpost.cli.show import Screen
    from agentpost_verify.probe import Options, Probe
    from agentpost_verify.running import Group, Result

STYLES = {"proved": "green", "failed": "red", "not checked": "yellow"}
MARKS = {"proved": "✓", "failed": "✗", "not checked": "–"}


def announce(screen: Screen, options: Options, groups: Sequence[Group], checks: int) -> None:
    """The plan of the run, and what it may cost; ``checks``: how many there are."""
    from agentpost_verify.running import planned

    messages = planned(groups, list(_means(options)))
    plan = f"{_count(checks, 'check')}, {_count(messages, 'message')} to its agent"
    screen.line(f"{options.url}: {plan}.")
    if messages:
        note = "The agent may use credits, and endpoints of the account get the messages' events."
        screen.line(note, "dim")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _means(options: Options) -> Iterator[str]:
    if options.hooks is not None:
        yield "hooks"
    if options.second_key is not None:
        yield "second key"


def show_result(screen: Screen, result: Result, before: Sequence[Result]) -> None:
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


def close(screen: Screen, probe: Probe, results: Sequence[Result], left: Sequence[str]) -> None:
    """The summary, and what was done to the account; ``left`` stays behind."""
    counts = count(results)
    summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in counts)
    screen.line(summary, f"bold {STYLES['failed' if counts['failed'] else 'proved']}")
    messages = _count(len(probe.created.messages), "message")
    screen.line(f"{messages} sent, {_count(len(probe.exchanges), 'request')} in all.", "dim")
    for each in left:
        screen.line(f"left behind: {each}", "yellow")


def count(results: Sequence[Result]) -> dict[str, int]:
    """How many checks ended in which way."""
    from agentpost_verify.running import Outcome

    order = (Outcome.PROVED, Outcome.NOT_CHECKED, Outcome.FAILED)
    return {each: sum(result.outcome is each for result in results) for each in order}


def report(
    url: str, probe: Probe, results: Sequence[Result], left: Sequence[str]
) -> dict[str, Any]:
    """Everything, for machines."""
    counts = {name.replace(" ", "_"): number for name, number in count(results).items()}
    return {
        "url": url,
        **counts,
        "messages_sent": len(probe.created.messages),
        "requests_sent": len(probe.exchanges),
        "left_behind": list(left),
        "checks": [dict(_fields(result)) for result in results],
    }


def _fields(result: Result) -> Iterator[tuple[str, Any]]:
    check = result.check
    yield from (("group", check.group.name), ("name", check.name), ("proves", check.proves))
    yield from (("source", check.source), ("outcome", result.outcome.replace(" ", "_")))
    yield ("seconds", round(result.seconds, 3))
    if result.why:
        yield ("why", result.why)
    if result.expected:
        yield from (("expected", result.expected), ("got", result.got))
        yield from (("request", result.request or None), ("request_id", result.request_id))


def show_list(screen: Screen, groups: Sequence[Group], as_json: bool) -> None:
    """The checks there are; as JSON with ``as_json``."""
    from agentpost_verify.running import list_checks

    checks = list_checks(groups)
    if as_json:
        fields = ("name", "proves", "source")
        print_json(
            [
                {"group": check.group.name, **{name: getattr(check, name) for name in fields}}
                for check in checks
            ]
        )
        return
    for group in groups:
        messages = f" · sends: {', '.join(group.sends)}" if group.sends else ""
        screen.line(f"{group.name} · {group.about}{messages}", "bold")
        for check in checks:
            if check.group is group:
                screen.line(f"{check.name}: {check.proves} ({check.source})", indent=2)
