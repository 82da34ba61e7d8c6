"""torch.autograd._functions: helpers of old functions."""
