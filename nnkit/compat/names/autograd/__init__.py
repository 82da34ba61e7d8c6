"""torch.autograd: names that are only names."""
