"""Threads: event loops of their own, and blocking calls that may never return."""
