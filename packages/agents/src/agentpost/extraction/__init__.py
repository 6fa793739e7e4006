"""The text of files of many formats, read in bounded time and memory."""


class Unreadable(Exception):
    """A file has no text that can be read (wrong type, encrypted, damaged); says which."""
