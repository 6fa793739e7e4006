"""Limits of accounts, and how accounts share what is bounded."""
