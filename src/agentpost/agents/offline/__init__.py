"""The agent that needs no network and no key: charts, reports, answers, summaries.

``agentpost.agents.offline:agent`` is its entry point. Importing this package loads none of the
libraries that draw, write or read files; each is imported by the step that uses it.
"""

from agentpost.agents.offline.turns import agent

__all__ = ["agent"]
