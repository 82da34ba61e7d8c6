"""Benchmarks: training steps in nnkit against PyTorch, JAX and NumPy, timed side by side."""
