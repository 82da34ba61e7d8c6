"""torch.distributions.relaxed_categorical: see `nnkit.distributions.relaxed`."""

from __future__ import annotations

from nnkit.distributions.relaxed import ExpRelaxedCategorical as ExpRelaxedCategorical
