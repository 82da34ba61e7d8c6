"""torch.signal: see `nnkit.signal`."""
