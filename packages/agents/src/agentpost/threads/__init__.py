"""Event loops in threads of their own."""
