"""Sending webhooks: the order of the deliveries, and the attempts."""
