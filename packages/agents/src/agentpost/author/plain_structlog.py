"""Imports structlog for an agent process: without rich, which would draw tracebacks and takes as
long to import as all the rest. To be imported before anything that imports structlog."""

from agentpost.imports import import_without

import_without("structlog", "rich")
