"""The server's secret, and what it encrypts."""
