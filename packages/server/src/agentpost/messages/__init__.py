"""Messages: sending, listing, finding, cancelling and deleting them."""
