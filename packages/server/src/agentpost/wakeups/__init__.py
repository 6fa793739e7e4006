"""Hints that something may have changed: the port, in memory and by PostgreSQL."""
