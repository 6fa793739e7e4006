"""The one guarded way to addresses that somebody else chose."""
