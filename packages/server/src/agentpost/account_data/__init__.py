"""All data of an account: exporting and deleting it."""
