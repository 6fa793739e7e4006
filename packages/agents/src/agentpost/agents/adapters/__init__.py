"""Agents made elsewhere: a framework's agent, a program, a service (design: Agents made elsewhere).

Each adapter is a file here, and imports what it needs when it is used. Code that runs inside of
one, such as a framework's tool, reaches its job with `current`.
"""

from agentpost.agents.adapters.current import ToolRun, current

__all__ = ["ToolRun", "current"]
