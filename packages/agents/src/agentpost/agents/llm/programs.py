"""The tool `run_code`: a program of the model, run in the sandbox as one recorded step."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import ModelRetry, Tool

from agentpost.agents.adapters.current import current_job
from agentpost.agents.adapters.pydantic_ai import OWN_CALLS
from agentpost.agents.base import JobFailed, StepFailed
from agentpost.agents.llm import sandbox
from agentpost.agents.llm.writing import files_of_names

_ENDED: Final = "The program was ended"


async def run_code(code: str, files: list[str] | None = None) -> str:
    """Run a program in a sandboxed part of Python, to compute, convert or check something.

    It has no network, no file system and no packages; of the standard library it has asyncio, csv,
    collections, datetime, decimal, itertools, json, math, random, re and a few more. The texts of
    the named files are in the dict `files`, by name. `write_file(path, text)` writes a file of the
    work. You are shown what it prints and the value of its last expression. It has 10 seconds and
    128 MB; nothing is kept from one program to the next.
    """
    job = current_job()
    inputs = await files_of_names(files) if files else []
    try:
        result = await job.step(sandbox.run, code, inputs, timeout=sandbox.STEP_SECONDS)
    except (JobFailed, StepFailed, TimeoutError, MemoryError) as error:
        return f"{_ENDED}: {error or 'it took too long'}"
    for path, text in result["files"].items():
        try:
            await job.write(path, text)
        except ValueError as error:
            raise ModelRetry(str(error)) from error
    lines = [str(result["said"]).strip()]
    if result["files"]:
        lines.append(f"Written: {', '.join(result['files'])}.")
    return "\n".join(filter(None, lines)) or "It printed nothing."


TOOL: Final[Tool[Any]] = Tool(run_code, sequential=True, metadata={OWN_CALLS: True})
