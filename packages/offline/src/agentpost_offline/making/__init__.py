"""Everything the agent makes: one folder for each thing, with its builder and its words.

A thing is added by one folder here and one line in `making.catalogue`.
"""
