"""What a message wants, decided by rules (pure): a `Request` in, a `Plan` out.

The order is the policy: (1) control of what runs, (2) changes to what was made, (3) things to
make, told by the *object* of the verb so that "a chart from the attached report" is no report,
(4) questions about the files, (5) files without a wish, (6) what we can do. Something we cannot
make is said plainly and never mistaken for something we can.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from agentpost.agents.offline import limits, vocabulary, wording

FileKind = Literal["data", "document", "other"]
Action = Literal[
    "stop", "which_stop", "nothing_runs", "status", "join", "revise", "unclear_change", "make",
    "answer", "cannot", "need", "ask_what", "unusable", "help", "hello", "thanks",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """A message and what it stands in.

    ``files``/``earlier``: kinds of the attachments of this message, of the last that had some.
    ``running``: titles of running jobs. ``made``: ``chart``, ``report`` or ``summary``, what the
    conversation made last. ``asked``: our open question: ``what`` to do, what to ``stop``, what to
    put into a ``chart`` or ``report``, or None.
    """

    text: str
    files: tuple[FileKind, ...] = ()
    earlier: tuple[FileKind, ...] = ()
    running: tuple[str, ...] = ()
    made: str | None = None
    asked: str | None = None

    @property
    def scope(self) -> tuple[FileKind, ...]:
        """The kinds of the files the message is about."""
        return self.files or self.earlier


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do. ``makes``: of ``chart report summary``; ``which``: indices of running jobs."""

    action: Action
    makes: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    which: tuple[int, ...] = ()
    subject: str = ""


def plan(request: Request) -> Plan:
    """Decide what to do about a request."""
    whole = " ".join(wish(request.text).lower().replace("’", "'").split())
    text = vocabulary.POLITE.sub("", whole).strip() or whole
    return (
        _control(text, request)
        or _change(text, request)
        or _make(text, request)
        or _small_talk(text, whole)
        or _about_files(text, request)
    )


def _control(text: str, request: Request) -> Plan | None:
    short = len(text.split()) <= 8
    if request.asked == "stop" and request.running and short:
        chosen = _chosen(text, request.running)
        if chosen:
            return Plan("stop", which=chosen)
    if vocabulary.STOP.match(text) and short:
        if not request.running:
            return Plan("nothing_runs")
        chosen = _chosen(text, request.running)
        if not chosen and len(request.running) == 1:
            chosen = (0,)
        return Plan("stop", which=chosen) if chosen else Plan("which_stop")
    if vocabulary.STATUS.match(text) and (short or request.running):
        return Plan("status")
    return None


def _chosen(text: str, running: tuple[str, ...]) -> tuple[int, ...]:
    """Which running jobs a text names: by "all", by place, or by a word of their title."""
    if re.search(r"\b(?:all|everything|both)\b", text):
        return tuple(range(len(running)))
    for place, pattern in enumerate((r"first|1", r"second|2", r"third|3", r"fourth|4", r"fifth|5")):
        if re.search(rf"\b(?:{pattern})\b", text) and place < len(running):
            return (place,)
    said = set(re.findall(r"[\w.-]{3,}", text)) - {"the", "stop", "cancel", "please", "from"}
    return tuple(
        i for i, title in enumerate(running) if said & set(re.findall(r"[\w.-]+", title.lower()))
    )


def _change(text: str, request: Request) -> Plan | None:
    if request.files or vocabulary.ABILITY.match(text) or request.asked in ("chart", "report"):
        return None
    target = request.made
    changing = bool(vocabulary.CHANGE.search(text)) and len(text.split()) <= 14
    wanted, unable = vocabulary.objects(text)
    if unable or (wanted and target not in wanted and not request.running):
        return None
    if request.running and not wanted:
        makes_new = bool(vocabulary.VERB.search(text)) and not changing
        asks = bool(vocabulary.QUESTION.match(text)) and not changing
        if not makes_new and not asks and not _idle_talk(text):
            return Plan("join")
    if request.running and wanted and changing:
        return Plan("join")
    if not changing or target is None:
        return None
    if target == "chart":
        options = wording.chart_options(request.text)
        axes = re.search(r"\b(?:by|per|with|only|show|of|use)\b \w", text)
        known = bool(options) or axes is not None
    elif target == "report":
        options = wording.report_options(request.text)
        known = bool(options)
    else:
        options = wording.summary_options(request.text)
        known = bool(options)
    if not known:
        return Plan("unclear_change", makes=(target,))
    return Plan("revise", makes=(target,), options=options)


def _idle_talk(text: str) -> bool:
    return _small_talk(text, text) is not None


def _make(text: str, request: Request) -> Plan | None:
    if vocabulary.ABILITY.match(text):
        return None
    makes, unable = vocabulary.objects(text)
    asked = request.asked == "what"
    if asked and not makes and not unable:
        makes = _picked(text, request.scope)
    if request.asked in ("chart", "report") and not makes and not unable:
        makes = _answered(text, request)
    if "chart" in makes and unable == "pictures":
        unable = ""
    if unable:
        return Plan("cannot", subject=unable)
    if not makes:
        if vocabulary.OTHER_WISH.match(text) and not text.startswith(("find", "order", "post")):
            return Plan("cannot", subject="")
        return None
    if beyond := vocabulary.beyond(text, makes):
        return Plan("cannot", subject=beyond)
    body = inline_text(request.text)
    for make in makes:
        usable = any(
            kind == "data" or (kind == "document" and make != "chart") for kind in request.scope
        )
        if not usable and not (body and make != "chart"):
            return Plan("need", makes=(make,))
    options: dict[str, Any] = {}
    for make in makes:
        options |= {make: _options(make, wish(request.text))}
    return Plan("make", makes=makes, options=options)


def _answered(text: str, request: Request) -> tuple[str, ...]:
    """What our question was about, when a text can be the answer to it."""
    other = vocabulary.QUESTION.match(text) or vocabulary.OTHER_WISH.match(text)
    if request.asked is None or other or len(text.split()) > 12 or _idle_talk(text):
        return ()
    return (request.asked,)


def _options(make: str, text: str) -> dict[str, Any]:
    if make == "chart":
        return wording.chart_options(text)
    return wording.report_options(text) if make == "report" else wording.summary_options(text)


def _picked(text: str, scope: tuple[FileKind, ...]) -> tuple[str, ...]:
    """The answer to "what should I do with it?" by place in the list we gave."""
    offers = offered(scope)
    for place, pattern in enumerate((r"first|1", r"second|2", r"third|3")):
        if (
            len(text.split()) <= 4
            and re.search(rf"\b(?:{pattern})\b", text)
            and place < len(offers)
        ):
            return (offers[place],)
    return ()


def offered(scope: tuple[FileKind, ...]) -> tuple[str, ...]:
    """What can be made of files of these kinds, in the order we list it."""
    if "data" in scope:
        return ("chart", "report", "summary")
    return ("report", "summary") if "document" in scope else ()


def _small_talk(text: str, whole: str) -> Plan | None:
    if vocabulary.ABILITY.match(text) or text in ("?", "help!"):
        return Plan("help")
    few = len(whole.split()) <= 5
    if few and re.match(
        r"^(?:thanks?|thank you|thx|cheers|perfect|great|nice|cool|ok|okay)\b", whole
    ):
        return Plan("thanks")
    if few and re.match(r"^(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|yo)\b", whole):
        return Plan("hello")
    return None


def _about_files(text: str, request: Request) -> Plan:
    asking = bool(vocabulary.QUESTION.match(text)) or text.endswith("?")
    usable = any(kind != "other" for kind in request.scope)
    if request.files and not usable:
        return Plan("unusable")
    if asking:
        return Plan("answer") if usable else Plan("need", makes=("answer",))
    if usable and not request.files and _looks_up(text):
        return Plan("answer")
    return Plan("ask_what") if request.files or (usable and request.asked) else Plan("help")


def _looks_up(text: str) -> bool:
    """A few words after files were sent ("total by region", "revenue May") are a look-up."""
    return 2 <= len(text.split()) <= 12


def wish(text: str) -> str:
    """The part of a message that says what is wanted: without a text it brings along, and cut."""
    body = inline_text(text)
    return (text.partition(body)[0] if body else text).strip()[: limits.WISH_CHARACTERS]


def inline_text(text: str) -> str:
    """The text a message brings along after its first line or colon, if it is long enough."""
    for mark in ("\n", ":"):
        head, found, body = text.partition(mark)
        if found and len(head.split()) <= 25 and len(body.split()) >= 25:
            return body.strip()
    return ""
