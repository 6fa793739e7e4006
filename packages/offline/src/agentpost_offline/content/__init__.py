"""What documents, slides and films hold, before it is read by anybody or drawn: pure data."""
