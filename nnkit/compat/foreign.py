"""Stand-ins for the classes of subjects of torch that nnkit lacks.

Libraries import such classes at the top of a file to ask whether a module is quantized or a tensor
sharded. `isinstance` says no, classes may be derived from them, and to create an object or to call
a function raises NotImplementedError.
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
    "torch.utils.cpp_extension": "extensions compiled for torch",
}

# Packages whose names torch has moved elsewhere.
MOVED = {
    "torch.quantization": "torch.ao.quantization",
    "torch.nn.intrinsic": "torch.ao.nn.intrinsic",
    "torch.nn.qat": "torch.ao.nn.qat",
    "torch.nn.quantizable": "torch.ao.nn.quantizable",
    "torch.nn.quantized": "torch.ao.nn.quantized",
}


@functools.cache
def root(module: str) -> str | None:
    """The package of a missing subject that a module lies in, None if nnkit has the module."""
    while module and module not in SUBJECTS:
        module = module.rpartition(".")[0]
    return module or None


def subject(module: str) -> str | None:
    """The missing subject that a module of torch belongs to, None if nnkit has the module."""
    found = root(module)
    return None if found is None else SUBJECTS[found]


def moved(module: str) -> str:
    """The module that has the names of another today, which is the same if they were not moved."""
    old = root(module)
    return module.replace(old, MOVED[old], 1) if old in MOVED else module


def is_private_class(name: str) -> bool:
    """Whether a name looks like that of a private class, which the list of names lacks."""
    return name[:1] == "_" and name[1:2].isupper()


class Foreign(type):
    """The metaclass of the stand-ins: to call one is an error."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        lacking = next(filter(None, (subject(kind.__module__) for kind in cls.__mro__)))
        raise NotImplementedError(f"{cls.__module__}.{cls.__name__}: nnkit has no {lacking}")


@functools.cache
def stand_in(module: str, name: str) -> type:
    """The class that stands for a class or function of a missing subject.

    Example:
        >>> FakeTensor = stand_in("torch._subclasses.fake_tensor", "FakeTensor")
        >>> isinstance(1, FakeTensor)
        False
    """
    return Foreign(name, (), {"__module__": module})
