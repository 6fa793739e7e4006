"""Run the checks with pytest, and turn what it reports into results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from agentpost_verify.answers import NOT_PROVED, Difference, Exchange, Gone, shown
from agentpost_verify.probe import Probe
from agentpost_verify.samples import PROBE

HERE: Final = Path(__file__).parent
MISREAD: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What a check raises that trips over an answer quite unlike the API's. The answer's shape is
judged by another check, so nothing is proved."""
COMPARED: Final = "a comparison"
Raised: TypeAlias = pytest.ExceptionInfo[BaseException]


class Outcome(StrEnum):
    """How a check ended."""

    PROVED = "proved"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Group:
    """Checks of one subject: those of the file ``checks/<name>.py``.

    ``sends``: names of the messages it needs; groups share those of one name. ``needs``: what the
    probe must have for any of its messages to be sent.
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
    Group("idempotency", "the same order, sent again",
          ("greeting", "greeting again", "at once", "longest")),
    Group("reading", "reading and waiting", ("greeting",)),
    Group("events", "the event log", ("greeting",)),
    Group("uploads", "large files on their way in", ("upload",)),
    Group("jobs", "work that a message starts", ("job",)),
    Group("files", "files and their links", ("job",)),
    Group("work", "the account's works", ("job",)),
    Group("webhooks", "webhook endpoints"),
    Group("deliveries", "what webhooks deliver", ("chosen", "for all", "flaky", "job"), "hooks"),
    Group("ownership", "what belongs to a key, and what to its account",
          ("greeting", "of the second key", "job"), "second"),
    Group("additions", "what agentpost adds", ("greeting", "schema", "question", "answer")),
    Group("document", "the description of the API"),
    Group("every-answer", "what holds for each answer"),
)  # fmt: skip
"""In the order in which they are carried out."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule. ``name`` is unique in its group; ``proves`` is the rule as a sentence for a person;
    ``source``: section and number of the rule in the API's specification, or "addition" for a rule
    that agentpost adds: where a deployment lacks it, it is not checked."""

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


def planned(groups: Sequence[Group], probe: Probe) -> int:
    """How many messages these groups send."""
    groups = [group for group in groups if not group.needs or getattr(probe, group.needs)]
    return len({name for group in groups for name in group.sends})


def knock(probe: Probe) -> None:
    """Look whether this API answers and knows the keys; raises `Unusable`."""
    for name, caller in (("key", probe), ("second key", probe.second)):
        if caller is None:
            continue
        try:
            exchange = caller.call("GET", "/v1/me")
        except NOT_PROVED as error:
            raise Unusable(str(error)) from None
        if exchange.status == 401:
            raise Unusable(f"the {name} is refused: it is unknown, expired or revoked")
        if exchange.status != 200 or not isinstance(exchange.json, dict):
            raise Unusable(f"{caller.url}/v1/me is not this API: it answers {exchange.outcome}")


def list_checks(groups: Sequence[Group]) -> list[Check]:
    """The checks of these groups, in their order; nothing is sent."""
    collector = _Plugin()
    _run(groups, collector, "--collect-only")
    return collector.checks


def run(probe: Probe, groups: Sequence[Group], tell: Callable[[Result], None]) -> str:
    """Carry out the checks in their order, and ``tell`` each result as it comes. A
    `KeyboardInterrupt`, raised by that or by a signal, ends the run. Once nothing answers any more,
    the rest is not checked: then the text says why."""
    plugin = _Plugin(probe, tell, probe.exchanges)
    _run(groups, plugin)
    return plugin.gone


def _run(groups: Sequence[Group], plugin: "_Plugin", *options: str) -> None:
    files = [str(HERE / "checks" / f"{group.name.replace('-', '_')}.py") for group in groups]
    with pytest.MonkeyPatch.context() as environment:  # without settings for other tests
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
            environment.delenv(name, raising=False)
        own = ["-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE)]
        code = pytest.main([*own, *options, *files], [plugin])
    if plugin.fault is not None:
        raise plugin.fault
    if code > pytest.ExitCode.INTERRUPTED:  # the codes above it are of pytest's own failures
        raise RuntimeError(f"the checks could not be run: pytest ended with {code!r}")


@dataclass(eq=False)
class _Plugin:
    """Collects the results."""

    probe: Probe | None = None
    tell: Callable[[Result], None] = lambda _: None
    exchanges: Sequence[Exchange] = ()
    checks: list[Check] = field(default_factory=list)
    gone: str = ""
    fault: BaseException | None = None
    calls_before: int = 0
    """How many answers there were when the test began."""
    compared: tuple[str, object, object] = ("", None, None)
    samples_missing: list[BaseException] = field(default_factory=list)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[PROBE] = self.probe
        config.pluginmanager.unregister(name="terminalreporter")  # the command prints

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.fault = RuntimeError(f"the checks cannot be read: {report.longreprtext}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.checks = [_check(item) for item in session.items]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.gone:
            pytest.skip(self.gone)
        self.calls_before = len(self.exchanges)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str]:
        self.compared = (op, left, right)
        return [COMPARED]

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
        if call.excinfo is not None:
            self.tell(self._judge(item, call, call.excinfo))
        elif call.when == "call":
            self.tell(Result(_check(item), Outcome.PROVED, call.duration))

    def _judge(self, item: pytest.Item, call: pytest.CallInfo[Any], info: Raised) -> Result:
        result, error, why = Result(_check(item), Outcome.FAILED, call.duration), info.value, ""
        if isinstance(error, (Gone, pytest.skip.Exception)):
            why = str(error)
            self.gone = why if isinstance(error, Gone) else self.gone
        elif isinstance(error, MISREAD):
            why = f"an answer could not be read ({type(error).__name__}: {error})"
        elif any(error is each for each in self.samples_missing):
            why = f"what it needs is missing: {error}"
        elif not isinstance(error, AssertionError):
            self.fault, item.session.shouldstop = error, "a check is broken"
        if why:
            return replace(result, outcome=Outcome.NOT_CHECKED, why=why)
        if call.when == "setup":  # told once, by the check that needs the sample first
            self.samples_missing.append(error)
        expected, got = self._difference(error)
        result = replace(result, expected=expected, got=got)
        exchange = self._exchange(info)
        if exchange is None:
            return result
        return replace(result, request=exchange.line, request_id=exchange.request_id)

    def _exchange(self, info: Raised) -> Exchange | None:
        """What the failure is about: the answer that the check looked at last, else asked for."""
        values = [value for entry in info.traceback for value in entry.locals.values()]
        looked_at = [value for value in values if isinstance(value, Exchange)]
        return next(reversed(looked_at or self.exchanges[self.calls_before :]), None)

    def _difference(self, error: BaseException) -> tuple[str, str]:
        """What was expected and what came. The words of an `assert` say what was expected; else
        it is what was compared with."""
        if isinstance(error, Difference):
            return error.expected, error.got
        words, _, explanation = f"\n{error}".rpartition("\nassert ")
        words = words.strip()
        if explanation != COMPARED:
            return words or "it to hold", explanation.partition("\n")[0]
        op, left, right = self.compared
        if op == "in" and isinstance(right, tuple):
            return words or " or ".join(map(shown, right)), shown(left)
        if op in ("in", "not in"):
            return words or f"{shown(left)} {op} it", shown(right)
        return words or (shown(right) if op == "==" else f"{op} {shown(right)}"), shown(left)


def _check(item: pytest.Item) -> Check:
    """The check that a test belongs to: the first words of its docstring are the rule, and in
    brackets where it comes from."""
    assert isinstance(item, pytest.Function)
    name = item.path.stem.replace("_", "-")
    group = next(group for group in GROUPS if group.name == name)
    rule = " ".join((item.function.__doc__ or "").partition("\n\n")[0].split())
    proves, _, source = rule.removesuffix(")").rpartition(" (")
    return Check(group, item.originalname.removeprefix("test_").replace("_", "-"), proves, source)
