"""Worker processes: plain functions of agents, each in a process that can be killed alone."""
