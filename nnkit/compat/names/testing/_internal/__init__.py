"""torch.testing._internal: what tests of libraries borrow from torch's own."""
