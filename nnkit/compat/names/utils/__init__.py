"""torch.utils: names that are only names."""
