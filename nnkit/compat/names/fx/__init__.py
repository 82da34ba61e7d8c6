"""torch.fx: names that are only names."""
