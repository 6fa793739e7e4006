"""The agent that needs no network and no key: it makes things from files and answers questions.

``agentpost.agents.offline:agent`` is its entry point. Importing this package loads none of the
libraries that draw, write or read files; each is imported by the step that uses it.
"""

from agentpost.agents.offline.turn import agent

__all__ = ["agent"]
