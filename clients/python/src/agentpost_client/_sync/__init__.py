"""The blocking client, made from `agentpost_client._async` by docs/client_sync.py."""
