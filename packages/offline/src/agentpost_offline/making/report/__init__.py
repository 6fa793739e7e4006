"""What a report of a table says."""
