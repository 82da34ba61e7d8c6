"""torch.distributions.relaxed_bernoulli: see `nnkit.distributions.relaxed`."""

from __future__ import annotations

from nnkit.distributions.relaxed import LogitRelaxedBernoulli as LogitRelaxedBernoulli
