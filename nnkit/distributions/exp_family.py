"""`ExponentialFamily`."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.engine.grad import grad
from nnkit.distributions.distribution import Distribution


class ExponentialFamily(Distribution):
    """Base class of densities ``exp(t(x) . n - F(n) + k(x))`` of natural parameters n.

    A class that gives n (``_natural_params``), F (``_log_normalizer``) and the mean of k
    (``_mean_carrier_measure``) has an entropy.

    Source: ``torch.distributions.ExponentialFamily``; Nielsen and Nock 2010, "Entropies and
    cross-entropies of exponential families".
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not tell its natural parameters")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not tell its log normalizer")

    def _untold(self) -> float:
        raise NotImplementedError(f"{type(self).__name__} does not tell its carrier measure")

    _mean_carrier_measure: Any = property(_untold)

    def entropy(self) -> Tensor:
        carrier = self._mean_carrier_measure
        natural = [n.detach().requires_grad_() for n in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        found = normalizer - carrier
        for n, slope in zip(natural, grad(normalizer.sum(), natural, create_graph=True)):
            found = found - (n * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return found
