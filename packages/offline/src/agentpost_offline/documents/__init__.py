"""Reading documents into blocks that know their place, and finding passages in them."""
