"""torch._C._cpu: features of the processor for torch's kernels; none is reported."""
