"""torch.utils.data.datapipes: see `nnkit.utils.data.datapipes`."""
