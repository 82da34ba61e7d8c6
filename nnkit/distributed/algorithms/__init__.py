"""Ways to bring the gradients of several ranks together."""
