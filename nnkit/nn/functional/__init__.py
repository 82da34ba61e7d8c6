"""The functions behind the layers: one line for each subject, whose ``__all__`` is public."""

from __future__ import annotations

from nnkit.autograd.arguments.annotations import hold_all
from nnkit.nn import grad as grad
from nnkit.nn.functional.activation import *  # noqa: F403
from nnkit.nn.functional.attention import *  # noqa: F403
from nnkit.nn.functional.conv import *  # noqa: F403
from nnkit.nn.functional.ctc_loss import *  # noqa: F403
from nnkit.nn.functional.distance import *  # noqa: F403
from nnkit.nn.functional.dropout import *  # noqa: F403
from nnkit.nn.functional.embedding import *  # noqa: F403
from nnkit.nn.functional.embedding_loss import *  # noqa: F403
from nnkit.nn.functional.folding import *  # noqa: F403
from nnkit.nn.functional.grid_sampling import *  # noqa: F403
from nnkit.nn.functional.hard_activation import *  # noqa: F403
from nnkit.nn.functional.interpolation import *  # noqa: F403
from nnkit.nn.functional.linear import *  # noqa: F403
from nnkit.nn.functional.loss import *  # noqa: F403
from nnkit.nn.functional.margin_loss import *  # noqa: F403
from nnkit.nn.functional.norm import *  # noqa: F403
from nnkit.nn.functional.padding import *  # noqa: F403
from nnkit.nn.functional.pooling import *  # noqa: F403
from nnkit.nn.functional.regression_loss import *  # noqa: F403
from nnkit.nn.functional.softmax import *  # noqa: F403

# In torch these are compiled, and its parser looks at their flags and words.
hold_all(globals(), names="elu_ hardtanh_ leaky_relu_ one_hot".split())
hold_all(globals(), names=["scaled_dot_product_attention"])
# Overrides see what these call.
_OUTER = "sigmoid tanh upsample upsample_bilinear upsample_nearest".split()
hold_all(globals(), in_python=True, but=_OUTER)
del hold_all
