"""torch._C._cpu: what a processor has for compiled kernels of torch; nothing is said."""
