"""Decks."""
