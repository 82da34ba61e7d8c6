"""torch.fx.experimental: names that only torch has."""
