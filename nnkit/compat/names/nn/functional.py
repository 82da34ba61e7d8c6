"""torch.nn.functional: names that torch has there too."""

from __future__ import annotations

from nnkit import channel_shuffle
from nnkit.overrides import handle_torch_function as handle_torch_function
from nnkit.overrides import has_torch_function as has_torch_function
from nnkit.overrides import has_torch_function_unary as has_torch_function_unary
from nnkit.overrides import has_torch_function_variadic as has_torch_function_variadic

native_channel_shuffle = channel_shuffle
