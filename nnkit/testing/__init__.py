"""``torch.testing``: whether two results agree, and tensors to test with."""

from nnkit.testing.comparison import assert_close as assert_close
from nnkit.testing.creation import make_tensor as make_tensor

__all__ = ["assert_close", "make_tensor"]
