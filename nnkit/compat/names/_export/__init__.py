"""torch._export: what classes of tensors are marked with for export."""
