"""Accounts and API keys: what a key may do and how often."""
