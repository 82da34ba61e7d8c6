"""Arrays in, arrays out: the algebra and the kernels of each device."""
