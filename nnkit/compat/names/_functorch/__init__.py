"""torch._functorch: the package that functorch has become."""
