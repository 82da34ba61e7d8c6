"""Tensors from and for Python, NumPy, buffers and DLPack."""
