"""The agent that needs no network and no key: it makes things from files and answers questions.

``agentpost.agents.offline:agent`` is its entry point. Importing this package loads none of the
libraries that draw, write or read files; each is imported by the step that uses it.
"""

from agentpost.agents.offline.turn import agent
from agentpost.agents.offline.warm_up import load

WORKER_IMPORTS = (
    "duckdb",
    "agentpost.agents.offline.data.answers",
    "agentpost.agents.offline.making.chart.making",
    *("typst", "pypdfium2", "PIL.Image"),
)
"""What questions about tables and charts import; an idle worker does so beforehand."""
WARM_UP = load

__all__ = ["WARM_UP", "WORKER_IMPORTS", "agent"]
