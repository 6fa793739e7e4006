"""The rate limiter: its port, in memory and in Redis."""
