"""Following a message: held reads, the event log and event streams."""
