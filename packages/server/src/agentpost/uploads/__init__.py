"""Uploads, and the files that come with a message."""
