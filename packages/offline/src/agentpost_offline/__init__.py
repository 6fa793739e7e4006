"""The agent that needs no network and no key: it makes things from files and answers questions.

``agentpost_offline:agent`` is its entry point. Importing this package loads none of the
libraries that draw, write or read files; each is imported by the step that uses it.
"""

from agentpost_offline.turn import agent
from agentpost_offline.warm_up import load

WORKER_IMPORTS = (
    "duckdb",
    "agentpost_offline.data.answers",
    "agentpost_offline.making.chart.making",
    *("typst", "pypdfium2", "PIL.Image"),
)
"""What questions about tables and charts import; an idle worker does so beforehand."""
WARM_UP = load
EXAMPLES = None
"""It takes the examples of the pages, which bring a table of sales."""

__all__ = ["EXAMPLES", "WARM_UP", "WORKER_IMPORTS", "agent"]
