"""Films: races of bars, and slides with captions."""
