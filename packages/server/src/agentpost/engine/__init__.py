"""Handing jobs to the process that runs them."""
