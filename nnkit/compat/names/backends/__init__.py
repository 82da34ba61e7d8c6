"""torch.backends: libraries behind torch that nnkit has not."""
