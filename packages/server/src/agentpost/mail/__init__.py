"""Mail to owners and users."""
