"""Imports structlog for an agent process: without rich, which would draw tracebacks and is a third
of what is imported at a start. To be imported before anything that imports structlog."""

from agentpost.imports import import_without

import_without("structlog", "rich")
