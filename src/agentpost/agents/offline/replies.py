"""What the agent says (pure). One place, so that its tone and its promises stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentpost.agents.base import Running, Started, WorkRef
from agentpost.agents.offline.texts import listed

_CAN = {
    "chart": "draw a chart (PNG) from a CSV or Excel file",
    "report": "write a report (Word and PDF) from documents, tables or your text",
    "answer": "answer questions about your files, with the place each answer comes from",
    "summary": "summarise documents and tables",
}
_OFFERS = {"chart": "a chart", "report": "a report (Word and PDF)", "summary": "a summary"}
_CHANGEABLE = {
    "chart": "its kind (bar, line, pie, scatter, histogram), columns, time steps, colour, title, "
    "the top N, or horizontal bars",
    "report": "its title, or the format (only Word, only PDF)",
    "summary": "its length",
}
_REASONS = {
    "out_of_credits": "the account has no credits left",
    "too_many_running": "too many jobs are running already",
    "hosting_fees": "the account has unpaid hosting fees",
}


def abilities() -> str:
    """What the agent can do, as a list."""
    return "I can:\n" + "\n".join(f"- {line}" for line in _CAN.values())


def help_text() -> str:
    """What to do with this agent."""
    return f"{abilities()}\n\nAttach files and say what you want, e.g. “chart revenue by month”."


def hello() -> str:
    """The answer to a greeting."""
    return f"Hello! {help_text()}"


def cannot(subject: str) -> str:
    """The plain no to something the agent cannot make."""
    what = f"make {subject}" if subject else "do that"
    return f"I can’t {what}: I work without an AI model. {abilities()}"


def unusable(names: Sequence[str]) -> str:
    """Only files that the agent can't read were attached."""
    return (
        f"I can’t read {listed(list(names))}. I work with text, Markdown, PDF, Word, PowerPoint, "
        "HTML, CSV and Excel files."
    )


def absent(missing: Sequence[str], names: Sequence[str]) -> str:
    """The question about files that a message names and nobody has sent."""
    there = listed(list(names))
    return f"I don’t have {listed(list(missing))}. What I have is {there}. Which one is it?"


def need(what: str, notes: Sequence[str]) -> str:
    """The question for missing input; ``notes`` are problems with attachments."""
    asked = {
        "chart": "Which data should I chart? Attach a CSV or Excel file.",
        "report": "What should the report be made from? Attach a document or table, or paste the "
        "text after a colon. I write reports from what you give me, not about a topic.",
        "summary": "What should I summarise? Attach a document or paste the text after a colon.",
        "answer": "Which files should I look in? I answer from attached files only.",
    }[what]
    return f"{asked} ({listed(list(notes))})" if notes else asked


def ask_what(names: Sequence[str], offers: Sequence[str]) -> str:
    """The question what to do with files that came without a wish."""
    choices = [_OFFERS[offer] for offer in offers]
    return (
        f"What should I do with {listed(list(names))}? I can make {listed(choices, 'or')}, "
        "or answer a question about it."
    )


def started(title: str, result: Started) -> str:
    """The outcome of starting a job."""
    if result.state == "running":
        return f"On it: {title[0].lower()}{title[1:]}."
    reason = _REASONS.get(
        result.reason or "", (result.reason or "no reason given").replace("_", " ")
    )
    if result.state == "queued":
        return f"{title} waits, because {reason}. It starts automatically as soon as it can."
    return f"{title} was not started, because {reason}."


def status(running: Sequence[Running], works: Sequence[WorkRef]) -> str:
    """What runs, or what was made last."""
    if running:
        return "\n".join(f"{job.title}: {job.step or 'just started'}." for job in running)
    last = next((work for work in works if work.text), None)
    if last is None:
        return "Nothing is running."
    files = f" ({listed([file.name for file in last.files])})" if last.files else ""
    return f"Nothing is running. Last finished: {last.title}{files}."


def which_stop(running: Sequence[Running]) -> str:
    """The question which of several jobs to stop."""
    return f"Which should I stop: {listed([job.title for job in running], 'or')}? Or all of them?"


def stopped(titles: Sequence[str], gone: Sequence[str]) -> str:
    """What was stopped, and what had already ended."""
    parts = [f"Stopped: {listed(list(titles))}."] if titles else []
    return " ".join([*parts, *(f"{title} had already ended." for title in gone)])


def unclear_change(kind: str) -> str:
    """The answer to a change that isn't one of those we know."""
    return f"I can’t change that. For a {kind} I can change {_CHANGEABLE[kind]}."


def found(result: Mapping[str, Any], nothing: str) -> str:
    """An answer or summary with what was read and skipped; ``nothing`` when there is none."""
    return f"{result['text'] or nothing}\n\n{sources(result)}".strip()


def sources(result: Mapping[str, Any]) -> str:
    """``Read: …``, ``Not used: …`` and notes, one per line; nothing for an empty list."""
    lines = [("Read", result["read"]), ("Not used", result["skipped"])]
    lines.append(("Note", result.get("notes", [])))
    return "\n".join(f"{name}: {'; '.join(items)}." for name, items in lines if items)
