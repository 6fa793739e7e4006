"""Nodes: which ones are alive, and whether each runs what it owns."""
