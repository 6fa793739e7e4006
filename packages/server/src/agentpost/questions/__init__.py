"""Typed questions of an agent, and the answers to them."""
