"""Reading and writing at positions."""
