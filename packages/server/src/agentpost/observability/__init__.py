"""Logs, metrics of requests, traces and counters."""
