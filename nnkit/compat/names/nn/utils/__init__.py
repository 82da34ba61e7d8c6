"""torch.nn.utils: see `nnkit.nn.utils`."""
