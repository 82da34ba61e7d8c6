"""torch.signal.windows: see `nnkit.signal.windows`."""
