"""Blobs: stored bytes, the rows that name them, and the space they take."""
