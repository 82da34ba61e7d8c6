"""An optimizer whose state is divided among the ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.tensor import Tensor
from nnkit.distributed import gather_object
from nnkit.distributed.algorithms.join import Join, Joinable, JoinHook
from nnkit.distributed.collectives import broadcast_coalesced
from nnkit.distributed.groups import default_group
from nnkit.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Lets each rank update, and keep the optimizer's state of, its share of the parameters.

    After a step every rank gives its share of the parameters to all. The gradients must be there
    on all ranks, as `DistributedDataParallel` leaves them.

    Args:
        params: parameters or groups, the same on all ranks.
        optimizer_class: the class of the optimizer that updates a share.
        process_group: the ranks; all by default.
        parameters_as_bucket_view: accepted.
        overlap_with_ddp: must be False.
        defaults: options of ``optimizer_class``.

    Raises:
        TypeError: ``params`` is no iterable of Tensors or groups.
        ValueError: there are no parameters.
        NotImplementedError: ``overlap_with_ddp`` is set.

    Source: Rajbhandari et al., *ZeRO* (2020), stage 1.

    Example:
        >>> import nnkit
        >>> nnkit.distributed.init_process_group()
        >>> x = nnkit.ones(2, requires_grad=True)
        >>> adam = nnkit.optim.Adam
        >>> optimizer = nnkit.distributed.optim.ZeroRedundancyOptimizer([x], adam, lr=0.5)
        >>> x.sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([0.5000, 0.5000])
        >>> nnkit.distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: overlap_with_ddp must be False")
        groups = _checked(params)
        self.process_group = default_group() if process_group is None else process_group
        self.rank = self.process_group.rank()
        self.world_size = self.process_group.size()
        self._loads = [0] * self.world_size  # elements that each rank updates
        self._shares: list[list[Tensor]] = [[] for _ in range(self.world_size)]
        self._ranks: dict[Any, int] = {}
        self._gathered: list[dict[int, dict]] | None = None
        self.optim: Any = None
        super().__init__(groups, defaults)
        own = [self._own_group(group) for group in self.param_groups]
        self.optim = optimizer_class(own, **defaults)
        _copy_options(self.optim.param_groups, self.param_groups)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; each parameter goes to the rank that has the fewest elements."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in sorted(group["params"], key=lambda p: -p.numel()):
            rank = self._loads.index(min(self._loads))
            self._loads[rank] += p.numel()
            self._shares[rank].append(p)
            self._ranks[p] = rank
        if self.optim is not None:
            self.optim.add_param_group(self._own_group(group))
            _copy_options(self.optim.param_groups, self.param_groups)

    def _own_group(self, group: dict[str, Any]) -> dict[str, Any]:
        return group | {"params": [p for p in group["params"] if self._ranks[p] == self.rank]}

    def step(self, closure: Callable | None = None, **options: Any) -> Any:
        """Update this rank's share, then get those of the others.

        Returns:
            What ``closure`` gives.
        """
        Join.notify_join_context(self)
        return self._step(closure, **options)

    def _step(self, closure: Callable | None = None, **options: Any) -> Any:
        _copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(closure, **options) if closure else self.optim.step(**options)
        works = [
            broadcast_coalesced(share, rank, self.process_group)
            for rank, share in enumerate(self._shares)
            if share
        ]
        for work in (w for several in works for w in several):
            work.wait()
        _copy_options(self.optim.param_groups, self.param_groups)
        return loss

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The steps of this optimizer in a `Join` once its rank has no more batches: it updates its
        share, with the gradients that have arrived by then."""
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks."""
        return self.process_group

    # State

    def _indices(self) -> dict[Any, int]:
        """The number that each parameter has in a state dict."""
        everything = [p for group in self.param_groups for p in group["params"]]
        return {p: index for index, p in enumerate(everything)}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all ranks to rank ``to``, where `state_dict` can then be called."""
        indices = self._indices()
        own = {indices[p]: dict(state) for p, state in self.optim.state.items()}
        found: Any = [None] * self.world_size if self.rank == to else None
        gather_object(own, found, group=self.process_group, group_dst=to)
        self._gathered = found

    def state_dict(self) -> dict[str, Any]:
        """The state of a single optimizer on all parameters, as of the last consolidation.

        Raises:
            RuntimeError: it was not consolidated on this rank.
        """
        if self._gathered is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant "
                "to save the global state."
            )
        merged = {index: state for part in self._gathered for index, state in part.items()}
        return super().state_dict() | {"state": dict(sorted(merged.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the options, and this rank's share of the state, of the whole state dict."""
        super().load_state_dict(state_dict | {"state": {}})
        indices = self._indices()
        owned = [p for group in self.optim.param_groups for p in group["params"]]
        state = {
            place: state_dict["state"][indices[p]]
            for place, p in enumerate(owned)
            if indices[p] in state_dict["state"]
        }
        _copy_options(self.param_groups, self.optim.param_groups)
        groups = self.optim.state_dict()["param_groups"]
        self.optim.load_state_dict({"state": state, "param_groups": groups})


class _JoinHook(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer._step()


def _checked(params: Any) -> list:
    """The parameters or groups in a list.

    Raises:
        TypeError: they are neither.
        ValueError: there are none.
    """
    if isinstance(params, Tensor):
        raise TypeError("`params` argument should be an iterable of Tensors, but got a Tensor")
    try:
        found = list(params)
    except TypeError:
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but got "
            f"{type(params).__name__}"
        ) from None
    if not found:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not all(isinstance(p, dict) for p in found) and any(
        not isinstance(p, Tensor) for p in found
    ):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    return found


def _copy_options(source: list[dict], target: list[dict]) -> None:
    for ours, theirs in zip(source, target):
        theirs.update({name: value for name, value in ours.items() if name != "params"})
