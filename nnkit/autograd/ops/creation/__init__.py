"""New tensors, and the same values in another dtype, place or order."""
