"""torch.nn: names that are only names."""
