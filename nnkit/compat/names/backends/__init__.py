"""torch.backends: libraries behind torch, of which nnkit has some."""
