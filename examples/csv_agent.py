"""An agent of one file: it describes the columns of a CSV file and writes them as a new file.

Run it from the root of the repository:

    agentpost serve --agent examples.csv_agent:agent
    agentpost send "What is in this?" --file sales.csv --save results

Each thing an agent can do appears once: ask, reply, start a job, look back, join, stop, remember;
and in the job a step, a file, a price, progress, follow-ups and a failure the user can read.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from agentpost.agents import File, Job, JobFailed, Turn

COLUMN_PRICE = 0.1
"""Credits for each column described."""


# --- the turn: seconds long, once for each message ------------------------------------------------
async def agent(turn: Turn) -> None:
    """Decide what the message asks for."""
    if turn.running:
        await steer(turn)
        return
    file = newest_csv(turn)
    if file is None:
        turn.ask("Which CSV file should I look at? Please attach it.")
        return
    started = await turn.start(describe, title=f"Columns of {file.name}", file=file)
    turn.state["described"] = [*described(turn), file.name]
    if started.state == "running":
        turn.reply(f"I am reading {file.name}.")
    elif started.state == "queued":
        turn.reply(f"I will read {file.name} as soon as there are credits.")
    else:
        turn.reply(f"I cannot start: {started.reason}.")


async def steer(turn: Turn) -> None:
    """A message while work runs: stop it, or hand the message to it as the new label."""
    job = turn.running[0]
    if turn.message.text.lower().startswith("stop"):
        ended = await turn.stop(job.job_id)
        turn.reply("Stopped." if ended else "It had just ended.")
    elif await turn.join(job.job_id):
        turn.reply(f"Noted for: {job.title}.")
    else:
        turn.reply("It has just ended. Please say that again.")


def newest_csv(turn: Turn) -> File | None:
    """The CSV file of this message, or else the last one sent before."""
    said = [turn.message, *reversed(turn.history)]
    files = [f for item in said if item.role == "user" for f in item.files]
    return next((f for f in files if f.name.lower().endswith(".csv")), None)


def described(turn: Turn) -> list[Any]:
    """What the conversation remembers."""
    names = turn.state.get("described", [])
    return names if isinstance(names, list) else []


# --- the job: durable, its calls recorded one by one ----------------------------------------------
async def describe(job: Job, file: File) -> str:
    """Count, describe, write. After a crash it goes on behind the last recorded call."""
    await job.progress(f"Reading {file.name}")
    try:
        columns = await job.step(measure, file)
    except ValueError as error:
        raise JobFailed(f"{file.name}: {error}.") from error
    label = f"Columns of {file.name}"
    for said in await job.inbox():  # what was handed over while the file was read
        label = said.text
    price = COLUMN_PRICE * len(columns)
    await job.write("columns.csv", table, columns, cost=price, label=label[:80])
    lines = [f"- {c['name']}: {c['filled']} filled, {c['kind']}" for c in columns]
    return f"{file.name} has {len(columns)} columns:\n" + "\n".join(lines)


# --- the steps: plain functions, run in a worker process ------------------------------------------
def measure(file: File) -> list[dict[str, Any]]:
    """One record for each column; raises `ValueError` when the file is no table."""
    text = file.local.read_text("utf-8-sig", errors="replace")
    head, *rows = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
    if not head or not rows:
        raise ValueError("it needs a heading and at least one row")
    columns = []
    for n, name in enumerate(head):
        cells = [row[n].strip() for row in rows if n < len(row) and row[n].strip()]
        kind = "numbers" if cells and all(map(is_number, cells)) else "text"
        columns.append({"name": name, "filled": len(cells), "kind": kind})
    return columns


def is_number(cell: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def table(columns: list[dict[str, Any]]) -> str:
    """The contents of the file that the job writes."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["name", "filled", "kind"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(columns)
    return out.getvalue()
