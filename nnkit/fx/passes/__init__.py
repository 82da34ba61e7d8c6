"""What is found out about graphs, and done to them."""
