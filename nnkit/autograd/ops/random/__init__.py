"""Random numbers: the same seed gives PyTorch's."""
