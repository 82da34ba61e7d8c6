"""torch.version: the versions of what torch was built with."""

from __future__ import annotations

from nnkit.compat.names.torch_version import __version__ as __version__

cuda = hip = xpu = git_version = None
debug = False
