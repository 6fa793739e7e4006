"""The turn: look at the message and its surroundings, decide, do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentpost.agents.base import File, Turn, WorkRef
from agentpost.agents.offline import jobs, limits, planner, replies, wording
from agentpost.agents.offline.answers import answer_files
from agentpost.agents.offline.planner import FileKind, Plan, Request
from agentpost.agents.offline.requested import absent_files, check_files
from agentpost.agents.offline.summary import summarise_files, summarise_text
from agentpost.agents.offline.tables import is_table
from agentpost.agents.offline.texts import listed, shortened

_UNREADABLE_KINDS = ("image", "video", "audio", "archive")


async def agent(turn: Turn) -> None:
    """Answer one message (the entry point, ``agentpost.agents.offline:agent``)."""
    files = _scope(turn)
    asked = turn.state.pop("asked", None)
    request = Request(
        text=turn.message.text,
        files=tuple(_kind(file) for file in turn.message.files),
        earlier=() if turn.message.files else tuple(_kind(file) for file in files),
        running=tuple(job.title for job in turn.running),
        made=_made(turn),
        asked=asked if isinstance(asked, str) else None,
    )
    plan = planner.plan(request)
    absent = _absent(turn, files) if plan.action in ("make", "answer") else []
    if absent:
        turn.ask(replies.absent(absent, [file.name for file in files]))
    elif plan.action in ("stop", "which_stop", "nothing_runs", "status", "join"):
        await _control(turn, plan)
    elif plan.action == "make":
        for make in plan.makes:
            answered = request.asked == make
            await _make(turn, make, files, plan.options[make], answered=answered)
    elif plan.action == "revise":
        await _revise(turn, plan, files)
    elif plan.action == "answer":
        question = turn.message.text.strip()[: limits.WISH_CHARACTERS]
        result = await turn.step(answer_files, _readable(files), question)
        turn.reply(replies.found(result, "That is not in the attached files."))
    elif plan.action == "need":
        turn.ask(replies.need(plan.makes[0], turn.notes))
    elif plan.action == "ask_what":
        turn.state["asked"] = "what"
        offers = planner.offered(request.scope)
        turn.ask(replies.ask_what([file.name for file in files], offers))
    else:
        turn.reply(_say(plan, files))


def _say(plan: Plan, files: Sequence[File]) -> str:
    if plan.action == "cannot":
        return replies.cannot(plan.subject)
    if plan.action == "unusable":
        return replies.unusable([file.name for file in files])
    if plan.action == "unclear_change":
        return replies.unclear_change(plan.makes[0])
    if plan.action == "thanks":
        return "You’re welcome."
    return replies.hello() if plan.action == "hello" else replies.help_text()


def _kind(file: File) -> FileKind:
    if is_table(file.name, file.content_type):
        return "data"
    return "other" if file.kind in _UNREADABLE_KINDS else "document"


def _readable(files: Sequence[File]) -> list[File]:
    return [file for file in files if _kind(file) != "other"]


def _scope(turn: Turn) -> list[File]:
    """The files the message is about: its own, else those it names, else the last ones sent."""
    if turn.message.files:
        text = planner.wish(turn.message.text).lower()
        named = [file for file in turn.message.files if file.name.lower() in text]
        return named or list(turn.message.files)
    sent = [said.files for said in reversed(turn.history) if said.role == "user" and said.files]
    text = turn.message.text.lower()
    earlier = {f.name: f for files in reversed(sent) for f in files if f.name.lower() in text}
    return list(earlier.values()) or list(sent[0] if sent else ())


def _absent(turn: Turn, files: Sequence[File]) -> list[str]:
    """Files the message names that nobody has sent, when there are others."""
    known = [file.name for said in (turn.message, *turn.history) for file in said.files]
    known += [file.name for work in turn.works for file in work.files]
    return absent_files(planner.wish(turn.message.text), known) if files else []


def _made(turn: Turn) -> str | None:
    """What the conversation made last: a summary in a reply, or a chart or report in a work."""
    last = turn.state.get("last")
    if isinstance(last, dict) and last.get("kind") == "summary":
        return "summary"
    work = _last_work(turn, None)
    return str(work.state["kind"]) if work else None


def _last_work(turn: Turn, kind: str | None) -> WorkRef | None:
    kinds = ("chart", "report") if kind is None else (kind,)
    return next((work for work in turn.works if work.state.get("kind") in kinds), None)


async def _control(turn: Turn, plan: Plan) -> None:
    if plan.action == "nothing_runs":
        turn.reply("Nothing is running, so there is nothing to stop.")
    elif plan.action == "status":
        turn.reply(replies.status(turn.running, turn.works))
    elif plan.action == "which_stop":
        turn.state["asked"] = "stop"
        turn.ask(replies.which_stop(turn.running))
    elif plan.action == "stop":
        stopped: list[str] = []
        gone: list[str] = []
        for index in plan.which:
            job = turn.running[index]
            (stopped if await turn.stop(job.job_id) else gone).append(job.title)
        turn.reply(replies.stopped(stopped, gone))
    else:
        job = turn.running[0]
        if await turn.join(job.job_id):
            turn.reply(f"Passed on to: {job.title}.")
        else:
            turn.reply(f"{job.title} has just ended. Say it again to change its result.")


async def _make(
    turn: Turn, make: str, files: Sequence[File], options: dict[str, Any], *, answered: bool
) -> None:
    if make == "summary":
        await _summarise(turn, files, options)
    elif make == "chart":
        turn.state.pop("last", None)
        tables = [file for file in files if _kind(file) == "data"]
        options = {"wording": [planner.wish(turn.message.text)], **options}
        for file in await _fitting(turn, tables, "chart", answered=answered):
            await _start_chart(turn, file, options)
        left = [file.name for file in files if file not in tables]
        if left:
            turn.reply(f"Not used for the chart: {listed(left)}.")
    else:
        turn.state.pop("last", None)
        readable = _readable(files)
        tables = [file for file in readable if _kind(file) == "data"]
        # What a text is about cannot be told from its words, so only tables are checked.
        checked = tables if len(tables) == len(readable) else []
        if len(await _fitting(turn, checked, "report", answered=answered)) < len(checked):
            return
        await _start_report(turn, files, planner.inline_text(turn.message.text), options)


async def _fitting(
    turn: Turn, tables: list[File], make: str, *, answered: bool = False
) -> list[File]:
    """The tables that have what the message names; says what the others have instead."""
    wish = planner.wish(turn.message.text)
    questions = await turn.step(check_files, tables, wish, answered) if tables else []
    fitting = [file for file, asked in zip(tables, questions, strict=True) if asked is None]
    said = "\n".join(asked for asked in questions if asked is not None)
    if said and fitting and make == "chart":
        turn.reply(said)
    elif said:
        turn.state["asked"] = make
        turn.ask(said)
    return fitting


async def _summarise(turn: Turn, files: Sequence[File], options: dict[str, Any]) -> None:
    count = int(options.get("count", 5))
    text = planner.inline_text(turn.message.text)
    turn.state["last"] = {"kind": "summary", "count": count}
    if text and not turn.message.files:
        turn.reply(str(await turn.step(summarise_text, text, count)))
        return
    result = await turn.step(summarise_files, _readable(files), count)
    result["skipped"] += [f.name for f in files if _kind(f) == "other"]
    turn.reply(replies.found(result, "There is nothing I can summarise in the attached files."))


async def _start_chart(
    turn: Turn, file: File, options: dict[str, Any], work: WorkRef | None = None
) -> None:
    version = _next_version(work)
    title = f"Chart of {file.name}"
    started = await turn.start(
        jobs.chart, title, work=work.work_id if work else None,
        file=file, options=options, version=version,
    )  # fmt: skip
    turn.reply(replies.started(title, started))


async def _start_report(
    turn: Turn, files: Sequence[File], text: str, options: dict[str, Any],
    work: WorkRef | None = None,
) -> None:  # fmt: skip
    readable = _readable(files) if not text or turn.message.files or work else []
    source = listed([file.name for file in readable]) or "your text"
    title = f"Report from {shortened(source, 100)}"
    started = await turn.start(
        jobs.write_report, title, work=work.work_id if work else None,
        files=readable, text=text, options=options, version=_next_version(work),
    )  # fmt: skip
    turn.reply(replies.started(title, started))
    left = [file.name for file in files if _kind(file) == "other"]
    if left:
        turn.reply(f"Not used for the report: {listed(left)}.")


def _next_version(work: WorkRef | None) -> int:
    version = work.state.get("version") if work else 0
    return (version if isinstance(version, int) else 0) + 1


async def _revise(turn: Turn, plan: Plan, files: Sequence[File]) -> None:
    """Make the last thing again with changed options: in the same work, from the same files."""
    kind = plan.makes[0]
    if kind == "summary":
        last = turn.state.get("last")
        before = last.get("count") if isinstance(last, dict) else None
        count = wording.summary_options(turn.message.text, before if isinstance(before, int) else 5)
        await _summarise(turn, files, count)
        return
    work = _last_work(turn, kind)
    assert work is not None, "a revision is planned only when a work of that kind exists"
    options = work.state.get("options")
    changes = dict(plan.options)
    if kind == "chart":
        changes["wording"] = [planner.wish(turn.message.text)]
    changed = jobs.merged(dict(options) if isinstance(options, dict) else {}, changes)
    wanted = work.state.get("files")
    originals = _by_ids(turn, wanted if isinstance(wanted, list) else [])
    text = work.state.get("text")
    if kind == "chart" and originals:
        for file in await _fitting(turn, originals[:1], "chart"):
            await _start_chart(turn, file, changed, work)
    elif kind == "report" and (originals or text):
        await _start_report(turn, originals, str(text or ""), changed, work)
    else:
        turn.ask(f"I no longer have the files of that {kind}. Please attach them again.")


def _by_ids(turn: Turn, ids: Sequence[Any]) -> list[File]:
    known = {f.id: f for said in turn.history for f in said.files}
    known |= {f.id: f for work in turn.works for f in work.files}
    return [known[key] for key in ids if key in known]
