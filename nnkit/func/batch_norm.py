"""Batch normalization that the transforms can map: without running statistics."""

from __future__ import annotations

from nnkit.nn.modules.batchnorm import _BatchNorm
from nnkit.nn.modules.module import Module


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Take the running statistics from each batch normalization in a module, in place.

    They would be written in each example of a `vmap`; without them every batch is normalized by its
    own statistics, also in evaluation.

    Args:
        root: the module, which is also what is returned.

    Example:
        >>> import nnkit
        >>> net = nnkit.nn.Sequential(nnkit.nn.BatchNorm1d(3))
        >>> list(nnkit.func.replace_all_batch_norm_modules_(net).state_dict())
        ['0.weight', '0.bias']
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
