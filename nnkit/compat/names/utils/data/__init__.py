"""torch.utils.data: see `nnkit.utils.data`."""
