"""Webhooks: endpoints, events that wait for them, and their deliveries."""
