"""Sending webhooks: which delivery goes out when, and the attempt itself."""
