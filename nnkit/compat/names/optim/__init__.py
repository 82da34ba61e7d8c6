"""torch.optim: names that are only names."""
