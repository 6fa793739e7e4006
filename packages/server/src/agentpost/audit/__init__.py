"""The audit log: who did what to the installation."""
