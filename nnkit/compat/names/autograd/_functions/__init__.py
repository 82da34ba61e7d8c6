"""torch.autograd._functions: what old functions shared."""
