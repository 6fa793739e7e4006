"""Backing up an installation and restoring it."""
