"""Run the checks with pytest, and turn what it reports into results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pytest

from agentpost_verify.answers import Difference, Exchange, Gone, shown
from agentpost_verify.probe import Probe
from agentpost_verify.samples import PROBE

HERE: Final = Path(__file__).parent
ADDITION: Final = "addition"
"""The source of a rule that agentpost adds: where a deployment lacks it, it is not checked."""
MISREAD: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What a check raises that trips over an answer quite unlike the API's. The answer's shape is
judged by another check, so nothing is proved."""
COMPARED: Final = "a comparison"


class Outcome(StrEnum):
    """How a check ended."""

    PROVED = "proved"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one subject: those of the file ``checks/<name>.py``.

    ``sends``: names of the messages it needs; groups share those of one name. ``needs``: what must
    be given for any of its messages to be sent.
    """

    name: str
    about: str
    sends: tuple[str, ...] = ()
    needs: str = ""


GROUPS: Final = (
    Group("authentication", "who may come in"),
    Group("errors", "what cannot be understood"),
    Group("account", "the account and its budget"),
    Group("messages", "sending messages", ("greeting", "not held", "longest", "odd files")),
    Group(
        "idempotency",
        "the same order, sent again",
        ("greeting", "greeting again", "at once", "longest"),
    ),
    Group("reading", "reading and waiting", ("greeting",)),
    Group("events", "the event log", ("greeting",)),
    Group("uploads", "large files on their way in", ("upload",)),
    Group("jobs", "work that a message starts", ("job",)),
    Group("files", "files and their links", ("job",)),
    Group("work", "the account's works", ("job",)),
    Group("webhooks", "webhook endpoints"),
    Group("deliveries", "what webhooks deliver", ("chosen", "for all", "flaky", "job"), "hooks"),
    Group(
        "ownership",
        "what belongs to a key, and what to its account",
        ("greeting", "of the second key", "job"),
        "second key",
    ),
    Group("additions", "what agentpost adds", ("greeting", "schema", "question", "answer")),
    Group("document", "the description of the API"),
    Group("every-answer", "what holds for each answer"),
)
"""In the order in which they are carried out."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule. ``name`` is unique in its group; ``proves`` is the rule as a sentence for a person;
    ``source``: section and number of the rule in the API's specification, or `ADDITION`."""

    group: Group
    name: str
    proves: str
    source: str


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a check. ``why``: why it was not checked; the rest describes a failure."""

    check: Check
    outcome: Outcome
    seconds: float
    why: str = ""
    expected: str = ""
    got: str = ""
    request: str = ""
    request_id: str | None = None


class Unusable(Exception):
    """The deployment cannot be visited at all; the text says why."""


def planned(groups: Sequence[Group], means: Collection[str]) -> int:
    """How many messages these groups send; ``means``: which of their needs are met."""
    groups = [group for group in groups if not group.needs or group.needs in means]
    return len({name for group in groups for name in group.sends})


def knock(probe: Probe) -> None:
    """Look whether this API answers and knows the keys; raises `Unusable`."""
    for name, caller in (("key", probe), ("second key", probe.second)):
        if caller is None:
            continue
        try:
            exchange = caller.call("GET", "/v1/me")
        except (Gone, pytest.skip.Exception) as error:
            raise Unusable(str(error)) from None
        except Difference as error:
            raise Unusable(f"{caller.url} gives no answer: {error.got}") from None
        if exchange.status == 401:
            raise Unusable(f"the {name} is refused: it is unknown, expired or revoked")
        if exchange.status != 200 or not isinstance(exchange.json, dict):
            raise Unusable(f"{caller.url}/v1/me is not this API: it answers {exchange.outcome}")


def list_checks(groups: Sequence[Group]) -> list[Check]:
    """The checks of these groups, in their order; nothing is sent."""
    collector = _Plugin()
    _run(groups, collector, "--collect-only")
    return collector.checks


_NOT_RUN: Final = (
    pytest.ExitCode.INTERNAL_ERROR,
    pytest.ExitCode.USAGE_ERROR,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)


def run(
    probe: Probe,
    groups: Sequence[Group],
    tell: Callable[[Result], None],
    begin: Callable[[Sequence[Check]], None] = lambda _: None,
) -> str:
    """Carry out the checks in their order, and ``tell`` each result as it comes; ``begin`` is told
    before them which checks there are. A `KeyboardInterrupt`, raised by either or by a signal, ends
    the run. Once nothing answers any more, the rest is not checked: then the text says why."""
    plugin = _Plugin(probe, tell, begin)
    _run(groups, plugin)
    return plugin.gone


def _run(groups: Sequence[Group], plugin: _Plugin, *options: str) -> None:
    files = [str(HERE / "checks" / f"{group.name.replace('-', '_')}.py") for group in groups]
    with _own_settings():
        code = pytest.main(
            ["-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE), *options, *files], [plugin]
        )
    if plugin.fault is not None:
        raise plugin.fault
    if code in _NOT_RUN:
        raise RuntimeError(f"the checks could not be run: pytest ended with {code!r}")


@contextmanager
def _own_settings() -> Iterator[None]:
    """Without the environment's settings for other tests."""
    names = [name for name in os.environ if name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")]
    values = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(values)


class _Plugin:
    """Collects the results. The tests that one parametrized function makes are one check."""

    def __init__(
        self,
        probe: Probe | None = None,
        tell: Callable[[Result], None] = lambda _: None,
        begin: Callable[[Sequence[Check]], None] = lambda _: None,
    ) -> None:
        self.checks: list[Check] = []
        self.gone = ""
        self.fault: BaseException | None = None
        self._probe = probe
        self._tell = tell
        self._begin = begin
        self._parts: list[Result] = []
        self._compared: tuple[str, object, object] = ("", None, None)
        self._samples_missing: list[BaseException] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.unregister(name="terminalreporter")  # the command prints
        if self._probe is not None:
            config.stash[PROBE] = self._probe

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.fault = RuntimeError(f"the checks cannot be read: {report.longreprtext}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.checks = list(dict.fromkeys(_check(item) for item in session.items))
        self._begin(self.checks)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[None]:
        answer = yield
        check = _check(item)
        if nextitem is None or _check(nextitem) != check:
            parts, self._parts = self._parts, []
            worst = [Outcome.FAILED, Outcome.NOT_CHECKED, Outcome.PROVED]
            part = min(parts, key=lambda each: worst.index(each.outcome))
            seconds = sum(each.seconds for each in parts)
            self._tell(replace(part, seconds=seconds))
        return answer

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.gone:
            pytest.skip(self.gone)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str]:
        self._compared = (op, left, right)
        return [COMPARED]

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        part = Result(_check(item), Outcome.PROVED, call.duration)
        if call.excinfo is not None:
            self._parts.append(self._judge(part, item, call.when, call.excinfo))
        elif call.when == "call":
            self._parts.append(part)

    def _judge(
        self, part: Result, item: pytest.Item, when: str, info: pytest.ExceptionInfo[BaseException]
    ) -> Result:
        error = info.value
        why = ""
        if isinstance(error, (Gone, pytest.skip.Exception)):
            why = str(error)
        elif isinstance(error, MISREAD):
            why = f"an answer could not be read ({type(error).__name__}: {error})"
        elif any(error is each for each in self._samples_missing):
            why = f"what it needs is missing: {error}"
        elif not isinstance(error, AssertionError):
            self.fault, item.session.shouldstop = error, "a check is broken"
        if isinstance(error, Gone):
            self.gone = why
        if why:
            return replace(part, outcome=Outcome.NOT_CHECKED, why=why)
        if when == "setup":  # told once, by the check that needs the sample first
            self._samples_missing.append(error)
        frames = (entry.locals.get("exchange") for entry in reversed(info.traceback))
        exchange = next((each for each in frames if isinstance(each, Exchange)), None)
        expected, got = self._difference(error)
        return replace(
            part,
            outcome=Outcome.FAILED,
            expected=expected,
            got=got,
            request=exchange.line if exchange is not None else "",
            request_id=exchange.request_id if exchange is not None else None,
        )

    def _difference(self, error: BaseException) -> tuple[str, str]:
        """What was expected and what came. The words of an `assert` say what was expected; else
        it is what was compared with."""
        if isinstance(error, Difference):
            return error.expected, error.got
        words, _, explanation = f"\n{error}".rpartition("\nassert ")
        words = words.strip()
        if explanation != COMPARED:
            return words or "it to hold", explanation.partition("\n")[0]
        op, left, right = self._compared
        if op == "in" and isinstance(right, tuple):
            return words or " or ".join(map(shown, right)), shown(left)
        if op in ("in", "not in"):
            return words or f"{shown(left)} {op} it", shown(right)
        return words or (shown(right) if op == "==" else f"{op} {shown(right)}"), shown(left)


def _check(item: pytest.Item) -> Check:
    """The check that a test belongs to: the first words of its docstring are the rule, and in
    brackets where it comes from."""
    function = item.function  # type: ignore[attr-defined]
    name = Path(item.path).stem.replace("_", "-")
    group = next(group for group in GROUPS if group.name == name)
    rule = " ".join(function.__doc__.partition("\n\n")[0].split())
    proves, source = re.fullmatch(r"(.*) \((.*)\)", rule).groups()  # type: ignore[union-attr]
    return Check(group, function.__name__.removeprefix("test_").replace("_", "-"), proves, source)
