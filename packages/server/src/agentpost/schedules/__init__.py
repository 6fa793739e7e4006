"""Schedules: messages that are sent at given times."""
