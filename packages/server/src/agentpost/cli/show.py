"""The terminal output of the caller's commands: live lines, the closing block, lists.

On a terminal there are colours, a spinner and rendered Markdown; otherwise plain lines that can be
piped and searched. Texts of agents and names of files are shown without control characters: they
must not be able to drive the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from agentpost.cli.errors import one_line
from agentpost.cli.tables import STATUS_STYLES
from agentpost.domain.text import displayable, human_credits, human_size

if TYPE_CHECKING:
    from rich.status import Status

    from agentpost_client import (
        Account,
        Entry,
        File,
        Job,
        Message,
        TextDelta,
        TextReset,
        Work,
    )

REASON_WORDS = {
    "agent_busy": "the agent is busy with another message; nothing ran, send it again later",
    "execution_failed": "the work failed",
    "hosting_fees": "hosting fees are due",
    "out_of_credits": "out of credits",
    "queue_expired": "it waited over a day for credits and was dropped",
    "result_unknown": "no result was found",
    "stopped": "it was stopped",
    "too_many_running": "too much work is running already",
    "turn_failed": "the agent failed while answering",
    "watch_expired": "it did not report back in time",
}
OUTCOME_MARKS = {"completed": "✓", "failed": "✗", "stalled_credits": "‖"}


@dataclass(frozen=True, slots=True)
class Prose:
    """An agent's Markdown on a terminal: no address hides behind other words, and no character of
    it, also of one written as an entity, drives the terminal."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """What `Console.print` asks for."""
        from rich.markdown import Markdown  # with its parser it takes as long as the rest

        for segment in console.render(Markdown(displayable(self.text), hyperlinks=False), options):
            yield segment._replace(text=displayable(segment.text))


class Screen:
    """Standard output for people; see the module docstring."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._spins = console.is_terminal and not console.quiet
        self._status: Status | None = None
        self._said: list[str] = []
        self._live = LiveText(self._write)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A spinner while the block runs, on a terminal only; live steps change its text. A line
        of text that is open at the block's end is ended."""
        try:
            if not self._spins:
                yield
                return
            with self._console.status(Text(what)) as self._status:
                try:
                    yield
                finally:
                    self._status = None
        finally:
            self._live.end()

    def part(self, part: Entry | TextDelta | TextReset, reply_shown: bool = False) -> None:
        """A log entry, or a piece of text that is being written."""
        from agentpost_client import TextDelta, TextReset

        match part:
            case TextDelta():
                self._live.delta(part)
            case TextReset():
                self._live.reset(part)
            case _:
                self.entry(part, reply_shown)

    def _write(self, text: str) -> None:
        """A piece of text as it is; the spinner is away while a line is open."""
        if self._status is not None:
            self._status.stop()
        self._console.print(Text(text), end="", soft_wrap=True)
        self._console.file.flush()
        if self._status is not None and text.endswith("\n"):
            self._status.start()

    def line(self, text: str, style: str = "", indent: int = 0) -> None:
        """One line, never wrapped or interpreted."""
        self._live.end()
        self._console.print(Text(" " * indent + one_line(text), style=style), soft_wrap=True)

    def columns(self, *parts: tuple[str, str]) -> None:
        """One line of parts with their styles, each two blanks behind the one before."""
        texts = [Text(displayable(text, " ", lines=False), style) for text, style in parts]
        self._console.print(Text("  ").join(texts), soft_wrap=True)

    def prose(self, text: str) -> None:
        """Words of an agent: Markdown on a terminal, as they are otherwise."""
        self._live.end()
        self._said.append(text)
        if self._console.is_terminal:
            self._console.print(Prose(text))
        else:
            self._console.print(Text(displayable(text)), soft_wrap=True)

    def entry(self, entry: Entry, reply_shown: bool = False) -> None:
        """A log entry as it comes; a reply that was shown before is not repeated."""
        match entry.type:
            case "agent_reply":
                if not reply_shown:
                    # Words of an agent, unless they were shown while they were written.
                    text = entry.text or ""
                    if self._live.take(None, text):
                        self._said.append(text)
                    else:
                        self.prose(text)
            case "progress":
                self._progress(entry)
            case "result":
                self._result(entry)
            case "turn_failed" | "turn_busy":
                self.line(f"✗ {entry.text or entry.type}", style="red")
            case _:
                self.line(f"• {entry.text or entry.state or entry.type}", style="dim")

    def _progress(self, entry: Entry) -> None:
        step = entry.step or ""
        files = ", ".join(name for name in entry.file_names if name not in step)
        text = ": ".join(part for part in (step, files) if part)
        if text:
            self.line(f"• {text}", style="dim")
        if self._status is not None and entry.step:
            self._status.update(Text(one_line(entry.step)))

    def _result(self, entry: Entry) -> None:
        mark = OUTCOME_MARKS.get(entry.outcome or "", "•")
        style = "green" if entry.outcome == "completed" else "red"
        is_shown = bool(entry.text) and self._live.take(entry.job_id, entry.text or "")
        self.line(f"{mark} {entry.title or entry.job_id or 'work'}", style=style)
        if entry.text and not is_shown:
            self.prose(entry.text)

    def closing(self, message: Message) -> None:
        """Where a message stands: status, question, problems, files, credits, and the command to
        continue with."""
        credits_used = human_credits(message.credits_used)
        reason = f" ({reason_words(message.reason)})" if message.reason else ""
        self.line(
            f"{message.status}{reason} · {message.id} · {credits_used}",
            style=f"bold {STATUS_STYLES.get(message.status, 'red')}",
        )
        self.question(message)
        for note in message.notes:
            self.line(f"note: {note}", style="yellow")
        for job in message.jobs:
            self._print_unfinished(job)
        for running in message.running:
            self.line(f"running: work {running.work_id}, started by {running.message_id}")
        if message.output is not None:
            self.line(f"output: {json.dumps(message.output, ensure_ascii=False)}")
        self.files(message.files)
        for hint in _hints(message):
            self.line(f"→ {hint}")

    def message(self, message: Message) -> None:
        """A message as it is now: its reply, the results of its jobs, where it stands."""
        if message.reply:
            self.prose(message.reply)
        for job in message.jobs:
            if job.text:
                self.line(f"{job.title or job.job_id}:", style="bold")
                self.prose(job.text)
        self.closing(message)

    def question(self, message: Message) -> None:
        """The agent's question, unless it was shown with its reply, and what may be answered."""
        question = message.question
        if question and not any(question in said for said in self._said):
            self.prose(question)
        answer_format = message.answer_format
        if answer_format is None:
            return
        for number, choice in enumerate(answer_format.choices, 1):
            self.line(f"{number}. {choice}", indent=2)
        if answer_format.schema:
            self.line(
                f"the answer is JSON that fits: {json.dumps(answer_format.schema)}", style="dim"
            )

    def _print_unfinished(self, job: Job) -> None:
        if job.status not in ("completed", "running"):
            reason = f": {reason_words(job.reason)}" if job.reason else ""
            self.line(f"{job.title or job.job_id} {job.status}{reason}", style="yellow")

    def files(self, files: Sequence[File]) -> None:
        """Files by the id that ``files get`` takes. Links are keys to a file and not shown."""
        for file in files:
            self.line(f"file: {file.file_id} ({human_size(file.size)})")

    @contextmanager
    def transfer(self, name: str, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """A bar that grows with the bytes, on a terminal only; yields what takes done and all."""
        if not self._spins:
            yield None
            return
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn as Remaining,
        )

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), Remaining())
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task(escape(one_line(f"{what} {name}")), total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)

    def work(self, work: Work, text: str) -> None:
        """A chat with its whole text."""
        self.line(f"{work.title or work.work_id} · {work.status} · {work.work_id}", style="bold")
        if text:
            self.prose(text)
        self.files(work.files)
        if work.link:
            self.line(work.link, style="dim")

    def account(self, account: Account) -> None:
        who = f"{account.name} <{account.email}>" if account.email else account.name
        self.line(f"account: {who} ({account.user_id})")
        if account.key is not None:
            self.line(f"key: {account.key.name} ({account.key.id})")
        self.line(f"agent: {account.agent.name}")
        self.line(f"credits: {human_credits(account.credits).split()[0]}")
        limits = account.limits
        self.line(
            f"limits: {limits.running_jobs} jobs at once, "
            f"{limits.requests_per_minute} requests per minute"
        )


def reason_words(reason: str) -> str:
    """A reason for people; one that is newer than this program is shown as it is."""
    return REASON_WORDS.get(reason, reason)


def _hints(message: Message) -> Iterator[str]:
    if message.resume == "add_credits":
        when = message.resume_by
        until = f" until {when.strftime('%Y-%m-%d %H:%M %Z').strip()}" if when else ""
        yield f"it waits for credits{until} and continues as soon as there are some"
    if message.reason == "too_many_running":
        yield "wait for running work, or end some with: agentpost work stop WORK_ID"
    if message.status == "needs_input":
        yield f'answer with: agentpost send "…" --answer-to {message.id}'
    if message.reason == "turn_failed":
        yield f"the server's log has the cause, with this id: {message.id}"
    if not message.final:
        yield f"watch it with: agentpost follow {message.id}"


_MISSED = "…"


class LiveText:
    """The text that is on the screen and has no end yet. Only one text is written at a time: pieces
    of another one are left out, as are those behind a gap. All of them come with their entry."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """``write`` shows a piece as it is, without a line end."""
        self._write = write
        self._job_id: str | None = None
        self._shown = ""
        self._start = 0
        self._is_whole = True

    def delta(self, part: TextDelta) -> None:
        """Show a piece. A text whose beginning was missed is shown from there on."""
        if self._shown and part.job_id != self._job_id:
            return
        if not self._shown:
            self._job_id, self._start = part.job_id, part.offset
            self._is_whole = part.offset == 0
            if part.offset:
                self._write(_MISSED)
        if part.offset != self._start + len(self._shown):
            self._is_whole = False  # its entry has all of it
            return
        self._shown += part.text
        self._write(displayable(part.text))

    def reset(self, part: TextReset) -> None:
        """What was shown of that text does not hold; it is written anew below."""
        if self._shown and part.job_id == self._job_id:
            self.end()

    def take(self, job_id: str | None, text: str) -> bool:
        """End the line for an entry; true when its whole ``text`` is on the screen already."""
        is_same = bool(self._shown) and job_id == self._job_id and self._is_whole
        if is_same and text.startswith(self._shown):
            self._write(displayable(text.removeprefix(self._shown)))
            self._shown = text
        is_shown = is_same and self._shown.strip() == text.strip()
        self.end()
        return is_shown

    def end(self) -> None:
        """End the line, if there is one."""
        if self._shown:
            self._write("\n" * (not self._shown.endswith("\n")))
        self._shown = ""
