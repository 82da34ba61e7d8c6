"""The names that `nnkit.amp` had for each device are deprecated."""

from __future__ import annotations

from nnkit.backend.warning import warn


def warn_of(device: str, name: str) -> None:
    """Say what to write in place of ``torch.<device>.amp.<name>``."""
    given = f"'{device}'" if name in ("GradScaler", "autocast") else f"device_type='{device}'"
    order = f"{given}, args..." if given[0] == "'" else f"args..., {given}"
    warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}({order})` instead.",
        FutureWarning,
    )
