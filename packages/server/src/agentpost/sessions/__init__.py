"""Signing in to the web app: links, passwords, identity providers, sessions."""
