"""What a job of one step costs on SQLite, in counts that do not depend on the machine."""

from pathlib import Path

from agentpost.db.sqlite import SqliteDatabase
from agentpost.jobs import actions as jobs
from tests.harness.context import open_harness
from tests.harness.ends import finish

STATEMENTS = 24
"""Of five write functions: message, start, turn's end, step, job's end."""


async def test_the_statements_of_a_job(tmp_path: Path) -> None:
    async with open_harness(tmp_path, listening=False) as harness:
        await harness.working()  # the conversation is there, and has a work
        assert isinstance(harness.ctx.db, SqliteDatabase)
        assert harness.ctx.db._connection is not None
        seen: list[str] = []
        harness.ctx.db._connection.set_trace_callback(seen.append)
        message_id, [job] = await harness.working()
        await jobs.record_call(harness.ctx, job, harness.call(job.job_id))
        await finish(harness.ctx, job, "Done.", None, "{}")
        harness.ctx.db._connection.set_trace_callback(None)
        made = [sql for sql in seen if sql.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE")]
        assert len(made) <= STATEMENTS, "\n".join(made)
        assert harness.view(message_id)["status"] == "completed"
