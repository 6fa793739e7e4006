"""The record: the rows of messages and jobs, what may change them, and their journal."""
