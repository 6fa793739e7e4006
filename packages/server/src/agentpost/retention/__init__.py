"""Deleting what has been kept long enough."""
