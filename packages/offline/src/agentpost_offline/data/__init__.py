"""Reading tables from files and computing answers from them."""
