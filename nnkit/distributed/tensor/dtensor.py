"""`DTensor`: a tensor of which every rank has a part, and which has the shape of the whole.

It is an instance of Tensor that holds this rank's part, so that optimizers, hooks and backward
work on parts and know nothing of ranks; ``__torch_function__`` decides what other functions do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from nnkit.autograd import no_grad
from nnkit.autograd.arguments.overriding import THREAD, DisableTorchFunctionSubclass
from nnkit.autograd.batch.function import leaves
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.backend.algebra import FORMULAS
from nnkit.distributed.collectives import all_reduce, broadcast
from nnkit.distributed.device_mesh import DeviceMesh
from nnkit.distributed.groups import default_group
from nnkit.distributed.reduce_op import ReduceOp
from nnkit.distributed.tensor.moving import Gather, own_part
from nnkit.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

# The element-wise functions, beside the formulas.
_ELEMENT_WISE = frozenset(
    "add mul sub div true_divide rsub rpow rtruediv rdiv pow clone detach to double float half"
    " bfloat16 type cpu cuda contiguous copy zero fill zeros_like ones_like empty_like full_like"
    " clamp clip clamp_min clamp_max nan_to_num where masked_fill lerp addcmul addcdiv"
    " requires_grad alias as_subclass eq ne lt le gt ge".split()
)
# Functions that concern the object, and not its elements.
_OF_OBJECT = frozenset(
    "register_hook register_post_accumulate_grad_hook retain_grad is_floating_point is_complex"
    " is_inference is_contiguous element_size data_ptr untyped_storage storage_offset dim"
    " ndimension requires_grad_ backward is_pinned get_device".split()
)
_NORMS = frozenset(("norm", "vector_norm"))


class DTensor(Tensor):
    """A tensor distributed over a mesh of ranks; made by `distribute_tensor` or `from_local`.

    Element-wise functions run on the local parts, norms on the parts and their sums. For any other
    function every rank gathers the whole tensor, and the result is replicated: that is correct,
    and costs the memory of the whole.

    Attributes:
        device_mesh: the ranks.
        placements: for each dimension of the mesh `Shard`, `Replicate` or `Partial`.

    Raises:
        RuntimeError: a function is called with it and an ordinary tensor that has dimensions.

    Example:
        >>> import nnkit
        >>> from nnkit.distributed.tensor import Shard, distribute_tensor
        >>> mesh = nnkit.distributed.init_device_mesh("cpu", (1,))
        >>> x = distribute_tensor(nnkit.ones(2), mesh, [Shard(0)])
        >>> (x + 1).full_tensor()
        tensor([2., 2.])
        >>> nnkit.distributed.destroy_process_group()
    """

    device_mesh: DeviceMesh
    placements: tuple[Placement, ...]
    _whole_shape: Size

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> DTensor:
        """The tensor whose part on this rank is ``local_tensor``, whose history it has.

        Args:
            device_mesh: all ranks by default.
            placements: replicated by default.
            shape: that of the whole; by default all parts are assumed to be equally large.
            run_check, stride: accepted.
        """
        mesh = _mesh(device_mesh)
        placed = _placed(placements, mesh)
        if shape is None:
            sizes = list(local_tensor.shape)
            for mesh_dim, placement in enumerate(placed):
                if isinstance(placement, Shard):
                    sizes[placement.dim] *= mesh.size(mesh_dim)
            shape = sizes
        return as_dtensor(local_tensor.view_as(local_tensor), mesh, placed, Size(shape))

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part; gradients flow back."""
        with DisableTorchFunctionSubclass():
            return plain(self)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole, on every rank; all of them call this."""
        with DisableTorchFunctionSubclass():
            return _whole(self)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
    ) -> DTensor:
        """The same tensor, divided in another way; all ranks call this.

        Raises:
            RuntimeError: to a `Partial`.
        """
        mesh = device_mesh or self.device_mesh
        placed = _placed(placements, mesh)
        if any(isinstance(p, Partial) for p in placed):
            raise RuntimeError("Can not redistribute to Partial, redistributing to Partial is for "
                               "internal use only!")  # fmt: skip
        shape = self._whole_shape
        with DisableTorchFunctionSubclass():
            local = own_part(_whole(self), mesh, placed).contiguous()
        return as_dtensor(local, mesh, placed, shape)

    # Properties that Tensor reads from its array

    @property
    def shape(self) -> Size:
        """The sizes of the whole; within functions on parts, those of the part."""
        return self._whole_shape if THREAD.of_tensors else Size(self._array.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the whole."""
        return prod(self.shape) * self.itemsize

    @property
    def grad(self) -> Any:
        """The gradient, divided as the tensor is."""
        found = self._grad
        if found is not None and found.__class__ is Tensor:
            self._grad = found = as_dtensor(
                found, self.device_mesh, self.placements, self._whole_shape
            )
        return found

    @grad.setter
    def grad(self, new: Tensor | None) -> None:
        with DisableTorchFunctionSubclass():
            Tensor.grad.__set__(self, new)  # type: ignore[attr-defined]

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        with DisableTorchFunctionSubclass():
            local = plain(self.detach())
        return (
            f"DTensor(local_tensor={local}, device_mesh={self.device_mesh}, "
            f"placements={self.placements})"
        )

    def __copy__(self) -> DTensor:
        twin: Any = self.detach()
        return twin.requires_grad_(self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        if id(self) not in memo:
            memo[id(self)] = self.detach().clone().requires_grad_(self.requires_grad)
            memo[id(self)].__dict__.update(self.__dict__)
        return memo[id(self)]

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return _answer(func, args, kwargs or {})


def as_dtensor(
    local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], shape: Size
) -> DTensor:
    """Turn a tensor that nobody else holds into a DTensor with it as the local part."""
    out: Any = local
    out.__class__ = DTensor
    out.__dict__.update(device_mesh=mesh, placements=tuple(placements), _whole_shape=shape)
    return out


def plain(x: Any) -> Tensor:
    """The local part with its history; called where ``__torch_function__`` is off."""
    return x.as_subclass(Tensor)  # type: ignore[attr-defined]


def _whole(x: DTensor) -> Tensor:
    with DisableTorchFunctionSubclass():
        return Gather.apply(plain(x), x.device_mesh, x.placements, x._whole_shape)


def _mesh(given: DeviceMesh | None) -> DeviceMesh:
    if given is not None:
        return given
    return DeviceMesh("cpu", list(range(default_group().size())))


def _placed(placements: Sequence[Placement] | None, mesh: DeviceMesh) -> tuple[Placement, ...]:
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(placements)


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """The tensor of the mesh's first rank, divided among its ranks, all of which call this.

    Args:
        tensor: a leaf of the same shape on every rank.
        device_mesh: all ranks by default.
        placements: replicated by default.
        src_data_rank: the rank along each dimension whose values are taken; None for every rank's
            own.

    Raises:
        RuntimeError: ``tensor`` is no leaf.
        ValueError: there is not one placement for each dimension of the mesh.
    """
    mesh = _mesh(device_mesh)
    placed = _placed(placements, mesh)
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor!"
        )
    whole = tensor.detach()
    if src_data_rank is not None and mesh.size() > 1:
        whole = whole.clone()
        for group in mesh.get_all_groups():
            broadcast(whole, group=group, group_src=src_data_rank)
    local = own_part(whole, mesh, placed).clone()
    out: Any = as_dtensor(local, mesh, placed, tensor.shape)
    return out.requires_grad_(tensor.requires_grad)


# Functions on parts


def _answer(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", "")
    parts = [x for x in _tensors((args, kwargs)) if isinstance(x, DTensor)]
    first = parts[0]
    if name in _SIZES:
        return _SIZES[name](first._whole_shape, *args[1:], **kwargs)
    with DisableTorchFunctionSubclass():
        if name in ("__get__", "__set__", "__delete__"):
            return _accessed(func, first, args)
        if name in _OF_OBJECT:
            return func(*args, **kwargs)
        others = [x for x in _tensors((args, kwargs)) if not isinstance(x, DTensor)]
        if any(x.ndim for x in others):
            raise RuntimeError(
                f"{name} got mixed Tensor and DTensor, need to convert all Tensor to DTensor "
                "before calling distributed operators!"
            )
        kind = parts[0] if all(_is_whole(x) for x in parts) else _alike(name, parts)
        if kind is not None:
            placed, mesh = kind.placements, kind.device_mesh
            shape = None if _is_whole(kind) else kind._whole_shape
            return _converted(func(*args, **kwargs), mesh, placed, shape)
        if name.strip("_") in _NORMS and len(parts) == 1 and _is_total(args, kwargs):
            return _norm(func, first, args, kwargs)
        return _on_wholes(func, name, args, kwargs)


def _alike(name: str, parts: list[DTensor]) -> DTensor | None:
    """The tensor that is divided as the result will be, if the function is element-wise."""
    base = name.strip("_")
    if base not in _ELEMENT_WISE and base not in FORMULAS:
        return None
    divided = [x for x in parts if not _is_whole(x) or x._array.ndim]
    first = divided[0]
    same = all(
        x.placements == first.placements
        and x.device_mesh == first.device_mesh
        and x._whole_shape == first._whole_shape
        for x in divided
    )
    return first if same and not any(isinstance(p, Partial) for p in first.placements) else None


def _is_whole(x: DTensor) -> bool:
    return all(isinstance(p, Replicate) for p in x.placements)


def _accessed(func: Callable, x: DTensor, args: tuple) -> Any:
    """The value of an attribute: that of the part, unless it is a tensor."""
    found = func(*args)
    if not isinstance(found, Tensor):
        return found
    if func == Tensor.data.__get__:  # type: ignore[attr-defined]
        return _converted(found, x.device_mesh, x.placements, x._whole_shape)
    return _on_wholes(func, "__get__", args, {})


def _mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A nested value with its tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)) and type(value) is not Size:
        kind: Any = type(value)
        found = [_mapped(each, change) for each in value]
        return kind(*found) if hasattr(value, "_fields") else kind(found)
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    return value


def _converted(result: Any, mesh: DeviceMesh, placed: Sequence, shape: Size | None) -> Any:
    """The tensors of a result as DTensors; their shapes are their own where none is given."""

    def distributed(x: Tensor) -> Tensor:
        whole = Size(x._array.shape) if shape is None else shape
        return x if isinstance(x, DTensor) else as_dtensor(x, mesh, placed, whole)

    return _mapped(result, distributed)


def _on_wholes(func: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of a function of the whole tensors, which every rank computes; what it writes into
    its first argument is written back into the parts."""
    if isinstance(kwargs.get("out"), DTensor):
        raise NotImplementedError(f"{name}: out= a DTensor")
    written = args[0] if args and isinstance(args[0], DTensor) else None
    first = next(x for x in _tensors((args, kwargs)) if isinstance(x, DTensor))
    mesh = first.device_mesh
    args, kwargs = _mapped((args, kwargs), lambda x: _whole(x) if isinstance(x, DTensor) else x)
    version = args[0]._version if written is not None else 0
    result = func(*args, **kwargs)
    if written is not None and args[0]._version != version:
        part = own_part(args[0].detach(), mesh, written.placements)
        with no_grad():
            plain(written).copy_(part)
        if result is args[0] or result is None:
            return written if result is not None else None
    return _converted(result, mesh, (Replicate(),) * mesh.ndim, None)


def _is_total(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a norm is over all elements, and its order a number."""
    given = {name for name, value in kwargs.items() if value is not None and value is not False}
    order = _order(args, kwargs)
    return len(args) <= 2 and given <= {"p", "ord", "dtype"} and isinstance(order, (int, float))


def _order(args: tuple, kwargs: dict[str, Any]) -> Any:
    order = args[1] if len(args) > 1 else kwargs.get("p", kwargs.get("ord", 2.0))
    return 2.0 if order == "fro" else order


def _norm(func: Callable, x: DTensor, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The norm of the norms of all parts, reduced over the dimensions that divide the tensor."""
    order = float(_order(args, kwargs))
    if x.requires_grad or order == 0 or any(isinstance(p, Partial) for p in x.placements):
        return _on_wholes(func, "norm", args, kwargs)
    if abs(order) == float("inf"):
        reduction = ReduceOp.MAX if order > 0 else ReduceOp.MIN
        local = plain(x)
        if local.numel():
            total = func(local, *args[1:], **kwargs)
        else:
            total = local.new_full((), 0.0 if order > 0 else float("inf"))
    else:
        reduction = ReduceOp.SUM
        total = func(plain(x), *args[1:], **kwargs).pow(order)
    for mesh_dim, placement in enumerate(x.placements):
        if isinstance(placement, Shard):
            all_reduce(total, reduction, x.device_mesh.get_group(mesh_dim))
    if reduction is ReduceOp.SUM:
        total = total.pow(1 / order)
    return as_dtensor(total, x.device_mesh, (Replicate(),) * x.device_mesh.ndim, Size(()))


def _tensors(value: Any) -> list[Tensor]:
    return [each for each in leaves(value) if isinstance(each, Tensor)]


def _strides(shape: Size, dim: int | None = None) -> Any:
    found = tuple(max(prod(shape[d + 1 :]), 1) for d in range(len(shape)))
    return found if dim is None else found[dim]


_SIZES: dict[str, Callable] = {
    "size": lambda shape, dim=None: shape if dim is None else shape[dim],
    "numel": lambda shape: prod(shape),
    "nelement": lambda shape: prod(shape),
    "__len__": lambda shape: shape[0],
    "stride": _strides,
}
