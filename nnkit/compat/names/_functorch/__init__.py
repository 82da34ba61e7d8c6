"""torch._functorch: where the package functorch has gone."""
