"""Turns: the handling of one message by the agent, one at a time in a conversation."""
