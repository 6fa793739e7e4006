"""Papers as PDF, Word file and page."""
