"""What keeps the project in order; none of it is installed."""
