"""What of cuDNN's frontend nnkit calls, computed by the CPU's backend on the memory that it gets.

It holds a driver to the frontend's protocol: described, validated, built and checked in order, each
tensor with dimensions, strides and dtype, addresses at execution. Not a word about cuDNN itself.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.reference import attention as attention_body

DTYPES = {"FLOAT": np.dtype(np.float32), "HALF": np.dtype(np.float16),
          "BFLOAT16": np.dtype(ml_dtypes.bfloat16)}  # fmt: skip
STEPS = ("validate", "build_operation_graph", "create_execution_plans", "check_support",
         "build_plans")  # fmt: skip


class cudnnGraphNotSupportedError(Exception):
    """As the frontend's, no RuntimeError."""


class Tensor:
    def __init__(self, **given: Any) -> None:
        self.given = given

    def set_output(self, value: bool) -> Tensor:
        assert value
        return self

    def _set(self, name: str, value: Any) -> Tensor:
        self.given[name] = value
        return self

    def set_dim(self, dim: list[int]) -> Tensor:
        return self._set("dim", dim)

    def set_stride(self, stride: list[int]) -> Tensor:
        return self._set("stride", stride)

    def set_data_type(self, kind: str) -> Tensor:
        return self._set("data_type", kind)

    def at(self, address: int) -> np.ndarray:
        """The array that lies there."""
        shape, stride, dtype = self.given["dim"], self.given["stride"], self.given["data_type"]
        assert len(shape) == len(stride) and len(shape) in (4, 5)
        dtype = DTYPES[dtype]
        size = (1 + sum((n - 1) * s for n, s in zip(shape, stride))) * dtype.itemsize
        flat = np.frombuffer((ctypes.c_char * size).from_address(address), dtype)
        strides = [s * dtype.itemsize for s in stride]
        return np.lib.stride_tricks.as_strided(flat, shape, strides)


class Graph:
    def __init__(self, cudnn: FakeCudnn, options: dict[str, Any]) -> None:
        self.cudnn, self.options = cudnn, options
        self.done: list[str] = []
        self.unwanted: list[str] = []
        self.policy: Any = None
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def tensor(self, **given: Any) -> Tensor:
        assert given.keys() == {"name", "dim", "stride", "data_type"}
        self.inputs.append(Tensor(**given))
        return self.inputs[-1]

    def _node(self, count: int, compute: Any) -> list[Tensor]:
        self.compute = compute
        self.outputs = [Tensor() for _ in range(count)]
        return self.outputs

    def conv_fprop(self, image: Tensor, weight: Tensor, **windows: Any) -> Tensor:
        def compute(x: Any, w: Any) -> list[Any]:
            return [B.conv(x, w, None, *_windows(windows), x.shape[1] // w.shape[1])]

        return self._node(1, compute)[0]

    def conv_dgrad(self, loss: Tensor, filter: Tensor, **windows: Any) -> Tensor:
        def compute(g: Any, w: Any) -> list[Any]:
            shape = tuple(self.outputs[0].given["dim"])
            groups = shape[1] // w.shape[1]
            return [B.conv_grad_input(g, w, shape, *_windows(windows), groups)]

        return self._node(1, compute)[0]

    def conv_wgrad(self, image: Tensor, loss: Tensor, **windows: Any) -> Tensor:
        def compute(x: Any, g: Any) -> list[Any]:
            shape = tuple(self.outputs[0].given["dim"])
            groups = x.shape[1] // shape[1]
            return [B.conv_grad_weight(g, x, shape, *_windows(windows), groups)]

        return self._node(1, compute)[0]

    def sdpa(self, q: Tensor, k: Tensor, v: Tensor, *, generate_stats: bool, attn_scale: float,
             name: str, **bound: Any) -> list[Tensor]:  # fmt: skip
        def compute(*arrays: Any) -> list[Any]:
            given: Any = (*arrays, None, bool(bound), attn_scale)
            out, log_total = attention_body.attention(B, *given)
            return [out, log_total[..., None]]

        return self._node(2, compute)

    def sdpa_backward(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, dO: Tensor, stats: Tensor, *,
        attn_scale: float, name: str, use_deterministic_algorithm: bool, **bound: Any,
    ) -> list[Tensor]:  # fmt: skip
        self.unwanted += ["nondeterministic"] * use_deterministic_algorithm

        def compute(q: Any, k: Any, v: Any, o: Any, g: Any, stats: Any) -> list[Any]:
            needs = (True, True, True, False)
            args: Any = (g, q, k, v, None, stats[..., 0], bool(bound), attn_scale, needs)
            return list(attention_body.attention_grad(B, *args)[:3])

        return self._node(3, compute)

    def __getattr__(self, name: str) -> Any:
        if name not in STEPS:
            raise AttributeError(name)

        def step(*arguments: Any) -> None:
            assert name == STEPS[len(self.done)]
            self.done.append(name)
            if name == self.cudnn.fails_at:
                raise self.cudnn.error
            if name == "build_plans":
                self.policy = arguments[0]

        return step

    def deselect_numeric_notes(self, notes: list[str]) -> Graph:
        assert self.done[-1] == "create_execution_plans"
        self.unwanted += notes
        return self

    def get_workspace_size(self) -> int:
        return self.cudnn.workspace

    def get_execution_plan_count(self) -> int:
        return len(self.cudnn.times)

    def get_workspace_size_plan_at_index(self, index: int) -> int:
        return 16 * index

    def execute(self, places: dict[Tensor, int], workspace: int, handle: int) -> None:
        ctypes.memset(workspace, 255, self.get_workspace_size())
        self._run(places, handle)

    def _run(self, places: dict[Tensor, int], handle: int) -> None:
        assert self.done == list(STEPS) and handle == self.cudnn.handle
        assert places.keys() == {*self.inputs, *self.outputs}
        self.cudnn.executed += 1
        given = (t.at(places[t]) for t in self.inputs)
        results = self.compute(*(x.astype(np.float32) for x in given))
        for tensor, result in zip(self.outputs, results, strict=True):
            tensor.at(places[tensor])[...] = result

    def execute_plan_at_index(self, places: Any, workspace: int, index: int, handle: int) -> None:
        if self.cudnn.times[index] is None:
            raise RuntimeError("this plan could not be built")
        self.cudnn.indices.append(index)
        ctypes.memset(workspace, 255, self.get_workspace_size_plan_at_index(index))
        self._run(places, handle)


def _windows(given: dict[str, list[int]]) -> tuple[Any, Any, Any]:
    assert given["pre_padding"] == given["post_padding"]
    return tuple(given["stride"]), tuple(given["pre_padding"]), tuple(given["dilation"])


class FakeCudnn:
    """The module, and what was asked of it."""

    cudnnGraphNotSupportedError = cudnnGraphNotSupportedError
    data_type = SimpleNamespace(**{name: name for name in DTYPES})
    heur_mode = SimpleNamespace(A="A", FALLBACK="FALLBACK")
    numerical_note = SimpleNamespace(
        TENSOR_CORE="tensor core", DOWN_CONVERT_INPUTS="down", NONDETERMINISTIC="nondeterministic"
    )
    build_plan_policy = SimpleNamespace(ALL="all", HEURISTICS_CHOICE="one")
    diagonal_alignment = SimpleNamespace(TOP_LEFT="top left")

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.executed = 0
        self.handle, self.stream = 7, 0
        self.workspace = 64
        self.fails_at, self.error = "", Exception()
        self.times: list[float | None] = []  # of the plans, None for one that fails
        self.indices: list[int] = []

    def create_handle(self) -> int:
        return self.handle

    def set_stream(self, handle: int, stream: int) -> None:
        assert handle == self.handle
        self.stream = stream

    def pygraph(self, **options: Any) -> Graph:
        self.graphs.append(Graph(self, options))
        return self.graphs[-1]
