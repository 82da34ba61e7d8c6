"""Communication hooks for gradients, and `Join` for ranks with different numbers of batches."""
