"""Subjects of torch that nnkit has not: their classes can be named and derived from, no more.

Libraries import them at the top of a file to ask whether a module is quantized or a tensor sharded.
None is: `isinstance` says so, and whoever makes an object or calls a function is told that nnkit
has no such thing.
"""

from __future__ import annotations

import functools
from typing import Any, NoReturn

SUBJECTS = {
    "torch.ao": "quantization",
    "torch.quantization": "quantization",
    "torch.nn.intrinsic": "quantization",
    "torch.nn.qat": "quantization",
    "torch.nn.quantizable": "quantization",
    "torch.nn.quantized": "quantization",
    "torch._prims_common": "tracing for a compiler",
    "torch._subclasses": "tracing for a compiler",
    "torch.fx.experimental": "tracing for a compiler",
    "torch.fx.passes": "tracing for a compiler",
    "torch.jit": "an interpreter of TorchScript",
    "torch.onnx": "ONNX files",
    "torch.distributed": "process groups",
    "torch.nested": "nested tensors",
    "torch.masked": "masked tensors",
    "torch.sparse.semi_structured": "semi-structured sparse tensors",
    "torch.sparse._triton_ops": "kernels in Triton",
    "torch.sparse._triton_ops_meta": "kernels in Triton",
    "torch.nn.parallel._functions": "copies of a module on several GPUs",
    "torch.utils.data.datapipes": "data pipes",
    "torch.utils.cpp_extension": "extensions compiled for torch",
}

# The packages that pass on what was moved elsewhere.
MOVED = {
    "torch.quantization": "torch.ao.quantization",
    "torch.nn.intrinsic": "torch.ao.nn.intrinsic",
    "torch.nn.qat": "torch.ao.nn.qat",
    "torch.nn.quantizable": "torch.ao.nn.quantizable",
    "torch.nn.quantized": "torch.ao.nn.quantized",
}


@functools.cache
def root(module: str) -> str | None:
    """The part of torch with such a subject in which a module lies, None if it is nnkit's too."""
    while module and module not in SUBJECTS:
        module = module.rpartition(".")[0]
    return module or None


def subject(module: str) -> str | None:
    """The missing feature that a module of torch belongs to, None if nnkit has the module too."""
    found = root(module)
    return None if found is None else SUBJECTS[found]


def moved(module: str) -> str:
    """Where the names of a module are today: the module itself, if they were not moved."""
    old = root(module)
    return module.replace(old, MOVED[old], 1) if old in MOVED else module


def is_private_class(name: str) -> bool:
    """Whether a name looks like one of a private class; those are not in the list of names."""
    return name[:1] == "_" and name[1:2].isupper()


class Foreign(type):
    """The class of the stand-ins: to call one is an error."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        lacking = next(filter(None, (subject(kind.__module__) for kind in cls.__mro__)))
        raise NotImplementedError(f"{cls.__module__}.{cls.__name__}: nnkit has no {lacking}")


@functools.cache
def stand_in(module: str, name: str) -> type:
    """The class that stands for a class or function of such a subject.

    Example:
        >>> FakeTensor = stand_in("torch._subclasses.fake_tensor", "FakeTensor")
        >>> isinstance(1, FakeTensor)
        False
    """
    return Foreign(name, (), {"__module__": module})
