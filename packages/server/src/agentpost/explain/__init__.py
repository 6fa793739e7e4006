"""What happened to a message, for people: its timeline, the output of code, reasons."""
