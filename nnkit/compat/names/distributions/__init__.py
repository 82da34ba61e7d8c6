"""Names of ``torch.distributions`` beyond nnkit's."""
