"""torch.utils.data._utils: the parts of the loader under torch's names."""
