"""Credits: the ledger, spend ceilings and usage."""
