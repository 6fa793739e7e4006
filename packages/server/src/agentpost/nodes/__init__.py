"""Nodes: which ones are alive, what each owns, and whether it runs that."""
