"""torch._export: a mark of tensor classes for export."""
