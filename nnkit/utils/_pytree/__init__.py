"""Trees of Python's containers: their leaves as a list, and back; as ``torch.utils._pytree``.

Lists, tuples, named tuples, dicts, ordered and default dicts, deques and classes that are
registered are nodes; everything else, None among it, is a leaf.
"""

from nnkit.utils._pytree.leaves import *  # noqa: F403
from nnkit.utils._pytree.nodes import *  # noqa: F403
from nnkit.utils._pytree.structure import *  # noqa: F403
from nnkit.utils._pytree.text import *  # noqa: F403
