"""torch.fx: names that only torch has."""
