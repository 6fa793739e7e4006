"""Everything the agent makes: a folder for each thing, and a line in `making.catalogue`."""
