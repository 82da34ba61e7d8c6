"""Helpers on the parameters of a model, under the names of ``torch.nn.utils``."""

from __future__ import annotations

from nnkit.nn.utils import (
    parametrizations as parametrizations,
)
from nnkit.nn.utils import (
    parametrize as parametrize,
)
from nnkit.nn.utils import (
    rnn as rnn,
)
from nnkit.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from nnkit.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from nnkit.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from nnkit.nn.utils.weight_hooks import (
    remove_spectral_norm,
    remove_weight_norm,
    spectral_norm,
    weight_norm,
)

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
