"""The layers: one line for each subject, whose file lists in ``__all__`` what is public."""

from __future__ import annotations

from nnkit.nn.modules.activation import *  # noqa: F403
from nnkit.nn.modules.adaptive import *  # noqa: F403
from nnkit.nn.modules.adaptive_pooling import *  # noqa: F403
from nnkit.nn.modules.attention import *  # noqa: F403
from nnkit.nn.modules.batchnorm import *  # noqa: F403
from nnkit.nn.modules.container import *  # noqa: F403
from nnkit.nn.modules.conv import *  # noqa: F403
from nnkit.nn.modules.distance import *  # noqa: F403
from nnkit.nn.modules.dropout import *  # noqa: F403
from nnkit.nn.modules.embedding import *  # noqa: F403
from nnkit.nn.modules.embedding_loss import *  # noqa: F403
from nnkit.nn.modules.flatten import *  # noqa: F403
from nnkit.nn.modules.folding import *  # noqa: F403
from nnkit.nn.modules.hard_activation import *  # noqa: F403
from nnkit.nn.modules.lazy_conv import *  # noqa: F403
from nnkit.nn.modules.linear import *  # noqa: F403
from nnkit.nn.modules.loss import *  # noqa: F403
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.norm import *  # noqa: F403
from nnkit.nn.modules.padding import *  # noqa: F403
from nnkit.nn.modules.parameter_container import *  # noqa: F403
from nnkit.nn.modules.pooling import *  # noqa: F403
from nnkit.nn.modules.recurrent import *  # noqa: F403
from nnkit.nn.modules.regression_loss import *  # noqa: F403
from nnkit.nn.modules.softmax import *  # noqa: F403
from nnkit.nn.modules.sync_batchnorm import *  # noqa: F403
from nnkit.nn.modules.transformer import *  # noqa: F403
from nnkit.nn.modules.upsampling import *  # noqa: F403

__all__ = sorted(  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in globals().items()
    if isinstance(value, type) and issubclass(value, Module) and name[0] != "_"
)
