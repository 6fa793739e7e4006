"""Clients and a front end of OpenAI's API that are too heavy for every run of the tests."""
