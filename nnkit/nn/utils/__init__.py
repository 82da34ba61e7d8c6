"""Helpers on the parameters of a model, under the names of ``torch.nn.utils``."""

from nnkit.nn.utils import parametrizations as parametrizations
from nnkit.nn.utils import parametrize as parametrize
from nnkit.nn.utils import rnn as rnn
from nnkit.nn.utils.clip_grad import *  # noqa: F403
from nnkit.nn.utils.convert_parameters import *  # noqa: F403
from nnkit.nn.utils.fusion import *  # noqa: F403
from nnkit.nn.utils.initialization import skip_init as skip_init
from nnkit.nn.utils.memory_format import *  # noqa: F403
from nnkit.nn.utils.weight_hooks import *  # noqa: F403
