"""torch._jit_internal: the annotations of TorchScript, which change nothing."""

from __future__ import annotations

import weakref

from nnkit.compat.names.jit import Final as Final
from nnkit.compat.names.jit import export as export
from nnkit.compat.names.jit import ignore as ignore
from nnkit.compat.names.jit import is_scripting as is_scripting
from nnkit.compat.names.jit import unused as unused
from nnkit.compat.passing import unchanged

_overload = _overload_method = boolean_dispatch = weak_module = weak_script_method = unchanged
_copy_to_script_wrapper = unchanged
boolean_dispatched = weakref.WeakKeyDictionary()  # no function has variants here
