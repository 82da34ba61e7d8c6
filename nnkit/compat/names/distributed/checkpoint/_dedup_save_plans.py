"""torch.distributed.checkpoint._dedup_save_plans: each item in one plan."""

from __future__ import annotations

from nnkit.distributed.checkpoint.default_planner import dedup_save_plans as dedup_save_plans
