"""`agentpost jobs …`: what an operator does about jobs that wait for their code."""

from typing import Annotated

import typer

from agentpost.cli.commands import command
from agentpost.cli.context import change
from agentpost.cli.printing import Result

JobId = Annotated[str, typer.Argument(help="Id of the job, exe_….")]


@command("jobs retry", "agentpost jobs retry exe_0660c5")
def retry(job_id: JobId) -> Result:
    """Retry a job that waits for its code now.

    A job waits when its code makes another call than the recorded one; `doctor` and `explain`
    name it.
    """
    from agentpost.jobs import actions as jobs

    change(lambda ctx: jobs.retry_waiting(ctx, job_id), job_id)
    return Result({"job_id": job_id}, f"{job_id} is run again.")


@command("jobs fail", "agentpost jobs fail exe_0660c5")
def fail(job_id: JobId) -> Result:
    """Fail a job that waits for its code."""
    from agentpost.jobs import actions as jobs

    change(lambda ctx: jobs.fail_waiting(ctx, job_id), job_id)
    return Result({"job_id": job_id}, f"{job_id} has failed.")
