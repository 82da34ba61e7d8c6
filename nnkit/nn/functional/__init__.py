"""The functions behind the layers: one line for each subject, whose ``__all__`` says what is public."""

from __future__ import annotations

from nnkit.nn.functional.conv import *  # noqa: F403
from nnkit.nn.functional.dropout import *  # noqa: F403
from nnkit.nn.functional.folding import *  # noqa: F403
from nnkit.nn.functional.padding import *  # noqa: F403
from nnkit.nn.functional.pooling import *  # noqa: F403
from nnkit.nn.functional.softmax import *  # noqa: F403
