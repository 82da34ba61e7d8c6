"""Distributions, data, transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.objects import Call, Made, f, given, i, nothing
from tests.harness.row import Named


def _distributions() -> list[Call]:
    square = np.eye(2, dtype=np.float32)
    made = {
        "Normal": (given(f(3), f(3)), f(3)), "Uniform": (given(f(3), f(3) + 1), f(3) + 0.2),
        "Laplace": (given(f(3), f(3)), f(3)), "LogNormal": (given(f(3), f(3)), f(3)),
        "Exponential": (given(f(3)), f(3)), "Bernoulli": (given(f(3)), i(3, below=2)),
        "Categorical": (given(f(2, 3)), i(2)),
        "MultivariateNormal": (given(f(2), square), f(2)),
    }  # fmt: skip
    more = {
        "Bernoulli": given(logits=f(3)), "Categorical": given(logits=f(2, 3)),
        "MultivariateNormal": given(f(2), scale_tril=square),
        "Normal": given(0.5, 2, validate_args=False), "Uniform": given(0.0, 1.0),
        "Exponential": given(0.5, validate_args=True), "Laplace": given(0, f(3)),
    }  # fmt: skip
    calls = []
    for name, (first, value) in made.items():
        path = f"distributions.{name}"
        for method, arguments in {
            "sample": given((2,)), "rsample": given((2,)), "log_prob": given(value),
            "entropy": given(), "cdf": given(value), "icdf": given(f(3)), "expand": given((4, 3)),
            "enumerate_support": given(True), "perplexity": given(),
            "__getattribute__": given("mean"),
        }.items():  # fmt: skip
            calls.append(Call(path, first, ((method, arguments),)))
        if name in more:
            calls.append(Call(path, more[name], (("log_prob", given(value)),)))
            calls.append(Call(path, more[name], (("sample", given([3])),)))
    calls.append(Call("distributions.MultivariateNormal", given(f(2), precision_matrix=square)))
    normal = Made("distributions.Normal", f(3), f(3))
    pairs = {name: Made(f"distributions.{name}", *first.args) for name, (first, _) in made.items()}
    for pair in pairs.values():
        calls.append(Call("distributions.kl_divergence", given(pair, pair)))
    calls += [
        Call("distributions.kl_divergence", given(pairs["Normal"], pairs["Laplace"])),
        Call("distributions.Independent", given(normal, 1, False), (("sample", given()),)),
        Call("distributions.Independent", given(normal, 1), (("log_prob", given(f(3))),)),
        Call("distributions.Independent", given(normal, 1), (("expand", given((2,))),)),
        Call(
            "distributions.Distribution",
            given((2,), (3,), validate_args=False),
            (("__getattribute__", given("batch_shape")),),
        ),
        Call(
            "distributions.register_kl",
            given(Named("distributions.Normal"), Named("distributions.Independent")),
        ),
    ]
    return calls


def _array() -> list[Call]:
    dataset = Made("utils.data.TensorDataset", f(6, 2), i(6))
    data, get, every = "utils.data.", "__getitem__", ("__iter__", given())
    loader: dict[str, Any] = {
        "shuffle": True, "num_workers": 0, "drop_last": True, "timeout": 0, "pin_memory": False,
    }  # fmt: skip
    return [
        Call(data + "TensorDataset", given(f(6, 2), i(6)), ((get, given(1)),)),
        Call(data + "TensorDataset", given(f(6, 2), i(6)), (("__len__", given()),)),
        Call(data + "StackDataset", given(f(6, 2), i(6)), ((get, given(1)),)),
        Call(data + "StackDataset", given(a=f(6, 2), b=i(6)), ((get, given(1)),)),
        Call(data + "Subset", given(dataset, [0, 2]), ((get, given(1)),)),
        Call(data + "ConcatDataset", given([dataset, dataset]), ((get, given(7)),)),
        Call(data + "ChainDataset", given([]), (every,)),
        Call(data + "DataLoader", given(dataset, 2, shuffle=False), (every,)),
        Call(data + "DataLoader", given(dataset, 4, **loader), (every,)),
        Call(data + "DataLoader", given([1, 2, 3], 2, collate_fn=list, drop_last=False), (every,)),
        Call(data + "DataLoader", given(dataset, sampler=[0, 2, 4]), (every,)),
        Call(data + "DataLoader", given(dataset, batch_sampler=[[0, 2], [4]]), (every,)),
        Call(data + "DataLoader", given([f(2), f(2)], None), (every,)),
        Call(data + "DataLoader", given(dataset, 2), (("__len__", given()),)),
        Call(data + "DataLoader", given(dataset, prefetch_factor=None, worker_init_fn=None,
                                        multiprocessing_context=None, persistent_workers=False)),
        Call(data + "random_split", given(dataset, [4, 2])),
        Call(data + "random_split", given(dataset, [0.5, 0.5], Made("Generator"))),
        Call(data + "Sampler", given()), Call(data + "Dataset", given()),
        Call(data + "SequentialSampler", given([1, 2, 3]), (every,)),
        Call(data + "RandomSampler", given(dataset, True, 3), (every,)),
        Call(data + "RandomSampler", given(dataset, num_samples=9), (every,)),
        Call(data + "SubsetRandomSampler", given([1, 2, 5]), (every,)),
        Call(data + "BatchSampler", given([1, 2, 3], 2, False), (every,)),
        Call(data + "WeightedRandomSampler", given([0.1, 0.9], 3, True), (every,)),
        Call(data + "default_collate", given([f(2), f(2)])),
        Call(data + "default_collate", given([{"a": 1, "b": 2.5}, {"a": 3, "b": 0.5}])),
        Call(data + "default_collate", given([(1, "x"), (2, "y")])),
        Call(data + "default_convert", given([1, f(2), "a"])),
        Call(data + "get_worker_info", given()),
    ]  # fmt: skip


def _leaf(lib: Any, value: Any) -> Any:
    return value.requires_grad_()


def _transforms() -> list[Call]:
    def scalar(x: Any) -> Any:
        return (x * x).sum()

    def vector(x: Any) -> Any:
        return x * x

    return [
        Call("func.grad", given(scalar, argnums=0), (("__call__", given(f(3))),)),
        Call("func.jacrev", given(vector), (("__call__", given(f(3))),)),
        Call("func.jacfwd", given(vector), (("__call__", given(f(3))),)),
        Call("func.hessian", given(scalar), (("__call__", given(f(2))),)),
        Call("func.vmap", given(vector, in_dims=0), (("__call__", given(f(3, 2))),)),
        Call("func.vjp", given(vector, f(3))),
        Call("func.jvp", given(vector, (f(3),), (f(3),))),
        Call("func.functional_call", given(
            Made("nn.Linear", 3, 2), {"weight": f(2, 3), "bias": f(2)}, (f(4, 3),))),
        Call("autograd.functional.jacobian", given(vector, f(3))),
        Call("autograd.functional.hessian", given(scalar, f(3))),
        Call("autograd.functional.vjp", given(vector, f(3), f(3))),
        Call("autograd.functional.jvp", given(vector, f(3), f(3))),
        Call("autograd.functional.hvp", given(scalar, f(3), f(3))),
        Call("autograd.functional.vhp", given(scalar, f(3), f(3), True)),
        Call("autograd.functional.jacobian", given(vector, (f(3),), True, vectorize=False)),
        Call("func.grad_and_value", given(scalar, has_aux=False), (("__call__", given(f(3))),)),
        Call("func.linearize", given(vector, f(3))),
        Call("func.vmap", given(vector, 0, 0, chunk_size=2), (("__call__", given(f(3, 2))),)),
        Call("func.stack_module_state", given([Made("nn.Linear", 2, 1), Made("nn.Linear", 2, 1)])),
        Call("utils.checkpoint.checkpoint_sequential", given(
            [Made("nn.Linear", 2, 2), Made("nn.ReLU")], 2, f(3, 2), use_reentrant=False)),
        Call("autograd.gradcheck", given(scalar, Made(_leaf, f(3).astype("float64")), eps=1e-6)),
        Call("testing.assert_close", given(f(0), f(0), rtol=0.1, atol=0.1)),
        Call("autograd.set_detect_anomaly", given(False, check_nan=True)),
        Call("autograd.detect_anomaly", given(check_nan=False)),
        Call("autograd.graph.save_on_cpu", given(pin_memory=False)),
        Call("autograd.graph.saved_tensors_hooks", given(nothing, nothing)),
        Call("autograd.graph.register_multi_grad_hook", given(
            [Made("nn.Parameter", f(2))], nothing, mode="all"), (("remove", given()),)),
        Call("autograd.graph.increment_version", given(f(2))),
        Call("autograd.graph.get_gradient_edge", given(Made("nn.Parameter", f(2))),
             (("count", given(0)),)),
        Call("no_grad", given()), Call("enable_grad", given()), Call("inference_mode", given(True)),
        Call("utils.checkpoint.checkpoint", given(vector, f(3), use_reentrant=False)),
        Call("manual_seed", given(3)), Call("set_grad_enabled", given(True)),
        Call("Generator", given("cpu"), (("manual_seed", given(3)),)),
        Call("device", given("cpu", 0)), Call("finfo", given(Named("float32"))),
        Call("iinfo", given(Named("int32"))), Call("Size", given([1, 2])),
        Call("promote_types", given(Named("float32"), Named("int64"))),
        Call("can_cast", given(Named("float32"), Named("int64"))),
    ]  # fmt: skip


CALLS: list[Call] = [*_distributions(), *_array(), *_transforms()]
