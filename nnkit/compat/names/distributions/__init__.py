"""What ``torch.distributions`` has besides nnkit's."""
