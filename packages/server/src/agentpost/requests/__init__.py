"""The request log: what was asked of the API and what it answered."""
