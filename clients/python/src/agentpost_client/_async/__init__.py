"""The client for asyncio. The blocking one, `agentpost_client._sync`, is made from this package by
docs/client_sync.py: only `io` is written twice.
"""
