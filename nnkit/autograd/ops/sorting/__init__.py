"""Order, search and counting."""
