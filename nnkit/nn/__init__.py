"""Floor 3: modules, the functions behind them, and initial values."""

from __future__ import annotations

from nnkit.nn import attention as attention
from nnkit.nn import functional as functional
from nnkit.nn import grad as grad
from nnkit.nn import init as init
from nnkit.nn import modules as modules
from nnkit.nn import parallel as parallel
from nnkit.nn import parameter as parameter
from nnkit.nn import utils as utils
from nnkit.nn.modules import *  # noqa: F403
from nnkit.nn.modules.linear_cross_entropy_options import (
    LinearCrossEntropyOptions as LinearCrossEntropyOptions,
)
from nnkit.nn.parallel import DataParallel as DataParallel
from nnkit.nn.parameter import Buffer as Buffer
from nnkit.nn.parameter import Parameter as Parameter
from nnkit.nn.parameter import UninitializedBuffer as UninitializedBuffer
from nnkit.nn.parameter import UninitializedParameter as UninitializedParameter
