"""The events of an account, and receiving them on the machine of a developer."""
