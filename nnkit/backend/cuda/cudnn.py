"""cuDNN, where its frontend is installed: convolution and attention as graphs of cuDNN's.

A graph is described and built once for the layouts, dtypes and parameters of a call, and kept.
Where cuDNN is not wanted, not there, or has no plan for a call, the functions here return False or
None, and our own kernels serve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.cuda.differences import BF16, address, array_module, contiguous, empty
from nnkit.backend.cuda.geometry import Ints
from nnkit.backend.cuda.philox import current_recording
from nnkit.backend.cuda.source import current_machine
from nnkit.backend.dtype import HALF
from nnkit.backend.reproducibility import are_deterministic_algorithms_enabled
from nnkit.backend.switches import cudnn as switches
from nnkit.backend.warning import warn

F4 = np.dtype(np.float32)
NAMES = {F4: "FLOAT", np.dtype(np.float16): "HALF", BF16: "BFLOAT16"}  # in cuDNN
MOST_PLANS = 512  # that are kept; programs whose shapes always change must not fill the memory
WIDEST = 128  # columns that its attention has plans for, in eights


@cache
def frontend() -> Any:
    """The module of ``nvidia-cudnn-frontend``; None if it, or cuDNN itself, is not installed."""
    try:
        cudnn = import_module("cudnn")
        cudnn.backend_version()
    except (ImportError, OSError, RuntimeError):
        return None
    return cudnn


class Plan(NamedTuple):
    graph: Any
    tensors: tuple  # of the graph, in the order of the arrays: inputs, outputs
    index: int | None  # the fastest plan; None for cuDNN's own choice
    workspace: int  # bytes


Describe = Callable[..., tuple]  # (frontend, graph, *inputs, *parameters) -> outputs


class Library:
    """cuDNN on one GPU, and the plans that were built for it."""

    def __init__(self, cudnn: Any, machine: Any) -> None:
        self.cudnn = cudnn
        self.machine = machine
        self.handle = cudnn.create_handle()
        self._plans: dict[tuple, Plan | None] = {}

    def run(self, describe: Describe, inputs: tuple, outputs: tuple, *parameters: Any) -> bool:
        """Fill ``outputs`` by the graph that ``describe`` makes; False if there is no plan."""
        arrays = (*inputs, *outputs)
        layouts = tuple((a.shape, a.strides, a.dtype) for a in arrays)
        # Plans are timed on the host's clock, which a recording would not survive.
        measured = switches.benchmark and current_recording() is None
        timing = switches.benchmark_limit if measured else None
        options = (switches.allow_tf32, is_deterministic(), timing)
        key = (describe, layouts, parameters, options)
        self.cudnn.set_stream(self.handle, self.machine.stream)
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = self._planned(describe, inputs, outputs, parameters, measured)
        plan = self._plans[key]
        if plan is None:
            return False
        self._execute(plan, arrays)
        return True

    def _planned(
        self, describe: Describe, inputs: tuple, outputs: tuple, parameters: tuple, measured: bool
    ) -> Plan | None:
        try:
            plan = self._built(describe, inputs, outputs, parameters, measured)
            return self._fastest(plan, (*inputs, *outputs)) if measured else plan
        except self.cudnn.cudnnGraphNotSupportedError:
            return None
        except RuntimeError as error:
            text = " ".join(str(error).split())
            warn(f"cuDNN failed, nnkit's own kernels serve: {text}")
            return None

    def _described(
        self, describe: Describe, inputs: tuple, outputs: tuple, parameters: tuple
    ) -> tuple[Any, tuple]:
        """The graph, and its tensors."""
        cudnn = self.cudnn
        single = cudnn.data_type.FLOAT
        graph = cudnn.pygraph(
            name="nnkit", io_data_type=self._type(inputs[0]), intermediate_data_type=single,
            compute_data_type=single, handle=self.handle,
            sm_count=self.machine.processors, sm_version=int(self.machine.capability),
        )  # fmt: skip
        given = tuple(
            graph.tensor(
                name=f"input{i}", dim=list(a.shape), stride=steps(a), data_type=self._type(a)
            )
            for i, a in enumerate(inputs)
        )
        made = describe(cudnn, graph, *given, *parameters)
        for tensor, array in zip(made, outputs, strict=True):
            tensor.set_output(True).set_data_type(self._type(array))
            tensor.set_dim(list(array.shape)).set_stride(steps(array))
        return graph, (*given, *made)

    def _built(
        self, describe: Describe, inputs: tuple, outputs: tuple, parameters: tuple, measured: bool
    ) -> Plan:
        cudnn = self.cudnn
        graph, tensors = self._described(describe, inputs, outputs, parameters)
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        unwanted = self._unwanted(inputs[0].dtype)
        if unwanted:
            graph.deselect_numeric_notes(unwanted)
        graph.check_support()
        policy = cudnn.build_plan_policy
        graph.build_plans(policy.ALL if measured else policy.HEURISTICS_CHOICE)
        return Plan(graph, tensors, None, graph.get_workspace_size())

    def _type(self, array: Any) -> Any:
        return getattr(self.cudnn.data_type, NAMES[array.dtype])

    def _unwanted(self, dtype: np.dtype) -> list[Any]:
        """Properties that a plan must not have, by the switches."""
        note = self.cudnn.numerical_note
        exact = dtype == F4 and not switches.allow_tf32
        found = [note.TENSOR_CORE, note.DOWN_CONVERT_INPUTS] if exact else []
        return [*found, note.NONDETERMINISTIC] if is_deterministic() else found

    def _execute(self, plan: Plan, arrays: tuple) -> None:
        places = {t: address(a) for t, a in zip(plan.tensors, arrays, strict=True)}
        workspace = empty((max(plan.workspace, 1),), np.dtype(np.uint8), arrays[0])
        if plan.index is None:
            plan.graph.execute(places, address(workspace), self.handle)
        else:
            place = address(workspace)
            plan.graph.execute_plan_at_index(places, place, plan.index, self.handle)

    def _fastest(self, plan: Plan, arrays: tuple) -> Plan:
        """Each plan run and timed, at most ``benchmark_limit`` of them (0: all)."""
        count = plan.graph.get_execution_plan_count()
        best, least = plan, math.inf
        for index in range(min(count, switches.benchmark_limit or count)):
            size = plan.graph.get_workspace_size_plan_at_index(index)
            one = plan._replace(index=index, workspace=size)
            try:
                seconds = self.machine.seconds(lambda one=one: self._execute(one, arrays))
            except (RuntimeError, self.cudnn.cudnnGraphNotSupportedError):
                continue  # one that could not be built
            if seconds < least:
                best, least = one, seconds
        return best


def is_deterministic() -> bool:
    return switches.deterministic or are_deterministic_algorithms_enabled()


def steps(x: Any) -> list[int]:
    """Strides in elements; along an axis of length 1 as if ``x`` lay without gaps from there on."""
    found: list[int] = []
    following = 1
    for size, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        found.append(following if size == 1 else stride // x.itemsize)
        following = found[-1] * size
    return found[::-1]


def connect(machine: Any) -> Library | None:
    """cuDNN for a GPU, which is the current one."""
    cudnn = frontend()
    return None if cudnn is None else Library(cudnn, machine)


def _library(*arrays: Any) -> Library | None:
    """cuDNN, if it is wanted and may take these arrays."""
    first = arrays[0].dtype
    fits = first in NAMES and all(a.dtype == first and a.size for a in arrays)
    return current_machine().cudnn if fits and switches.enabled else None


# Convolution: fills ``out`` and returns True. One spatial axis is given to cuDNN as two.


def _planar(x: Any) -> Any:
    return x[:, :, None] if x.ndim == 3 else x


def _windows(stride: Ints, padding: Ints, dilation: Ints) -> tuple[tuple[int, ...], ...]:
    if len(stride) > 1:
        return tuple(stride), tuple(padding), tuple(dilation)
    return (1, *stride), (0, *padding), (1, *dilation)


def _options(stride: Ints, padding: Ints, dilation: Ints) -> dict[str, list[int]]:
    return {
        "pre_padding": list(padding), "post_padding": list(padding),
        "stride": list(stride), "dilation": list(dilation),
    }  # fmt: skip


def _forward(cudnn: Any, graph: Any, x: Any, weight: Any, *windows: Ints) -> tuple:
    return (graph.conv_fprop(image=x, weight=weight, **_options(*windows)),)


def _grad_input(cudnn: Any, graph: Any, g: Any, weight: Any, *windows: Ints) -> tuple:
    return (graph.conv_dgrad(loss=g, filter=weight, **_options(*windows)),)


def _grad_weight(cudnn: Any, graph: Any, x: Any, g: Any, *windows: Ints) -> tuple:
    return (graph.conv_wgrad(image=x, loss=g, **_options(*windows)),)


def _convolution(describe: Describe, x: Any, y: Any, out: Any, *windows: Ints) -> bool:
    library = _library(x, y)
    if library is None:
        return False
    inputs = (_planar(x), _planar(y))
    return library.run(describe, inputs, (_planar(out),), *_windows(*windows))


def conv(x: Any, weight: Any, out: Any, stride: Ints, padding: Ints, dilation: Ints) -> bool:
    return _convolution(_forward, x, weight, out, stride, padding, dilation)


def conv_grad_input(
    g: Any, weight: Any, out: Any, stride: Ints, padding: Ints, dilation: Ints
) -> bool:
    return _convolution(_grad_input, g, weight, out, stride, padding, dilation)


def conv_grad_weight(x: Any, g: Any, out: Any, stride: Ints, padding: Ints, dilation: Ints) -> bool:
    return _convolution(_grad_weight, x, g, out, stride, padding, dilation)


# Attention in half precision without a mask, which may be causal.


def _attention_library(q: Any, k: Any, v: Any) -> Library | None:
    widths = (q.shape[-1], v.shape[-1])
    fits = (
        q.dtype in HALF
        and q.ndim in (3, 4)
        and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
        and all(w % 8 == 0 and w <= WIDEST for w in widths)
    )
    return _library(q, k, v) if fits else None


def _with_heads(x: Any) -> Any:
    return x[:, None] if x.ndim == 3 else x


def _bound(cudnn: Any, is_causal: bool) -> dict[str, Any]:
    if not is_causal:
        return {}
    top_left = cudnn.diagonal_alignment.TOP_LEFT
    return {"diagonal_alignment": top_left, "diagonal_band_right_bound": 0}


def _attend(cudnn: Any, graph: Any, q: Any, k: Any, v: Any, is_causal: bool, scale: float) -> tuple:
    options = _bound(cudnn, is_causal)
    out, log_total = graph.sdpa(
        q=q, k=k, v=v, generate_stats=True, attn_scale=scale, name="attention", **options
    )
    return out, log_total


def _attend_grad(
    cudnn: Any, graph: Any, q: Any, k: Any, v: Any, out: Any, g: Any, log_total: Any,
    is_causal: bool, scale: float,
) -> tuple:  # fmt: skip
    options = _bound(cudnn, is_causal)
    return tuple(
        graph.sdpa_backward(
            q=q, k=k, v=v, o=out, dO=g, stats=log_total, attn_scale=scale, name="attention_grad",
            use_deterministic_algorithm=is_deterministic(), **options,
        )
    )  # fmt: skip


def _readable(x: Any) -> Any:
    """``x``, with the columns of a row side by side."""
    return x if x.strides[-1] == x.itemsize else contiguous(x)


def attention(q: Any, k: Any, v: Any, is_causal: bool, scale: float) -> tuple[Any, Any] | None:
    """The result and the logarithms of the rows' sums."""
    library = _attention_library(q, k, v)
    if library is None:
        return None
    inputs = tuple(_with_heads(_readable(x)) for x in (q, k, v))
    out = empty((*q.shape[:-1], v.shape[-1]), v.dtype, v)
    log_total = empty(q.shape[:-1], F4, v)
    outputs = (_with_heads(out), _with_heads(log_total[..., None]))
    done = library.run(_attend, inputs, outputs, bool(is_causal), float(scale))
    return (out, log_total) if done else None


def attention_grad(
    g: Any, q: Any, k: Any, v: Any, is_causal: bool, scale: float
) -> tuple[Any, Any, Any] | None:
    """The gradients of q, k and v; the result, which cuDNN wants, is computed again."""
    found = attention(q, k, v, is_causal, scale)
    library = _attention_library(q, k, v)
    if found is None or library is None:
        return None
    out, log_total = found
    g = array_module(g).broadcast_to(g, out.shape)
    given = tuple(_with_heads(_readable(x)) for x in (q, k, v, out, g))
    made = tuple(empty(x.shape, x.dtype, x) for x in (q, k, v))
    outputs = tuple(map(_with_heads, made))
    rows = _with_heads(log_total[..., None])
    done = library.run(_attend_grad, (*given, rows), outputs, bool(is_causal), float(scale))
    return made if done else None
