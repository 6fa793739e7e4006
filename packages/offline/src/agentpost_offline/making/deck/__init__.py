"""Decks: PowerPoint with native charts and tables, and the same slides as PDF."""
