"""Handling of HTTP requests that the API and the web pages share."""
