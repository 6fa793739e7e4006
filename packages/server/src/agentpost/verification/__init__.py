"""`agentpost verify` on the command line."""
