"""Changes of graphs for a purpose: layers merged, constants computed, calls put into one form."""
