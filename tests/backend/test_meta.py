"""Tensors without memory: geometry, dtypes and history are those of the CPU's."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.harness.call import Call, flatten
from tests.harness.row import Maker, OpRow, Sample
from tests.harness.table import ROWS

META = nnkit.device("meta")
# What cannot be known of a result without its elements, or is asked of them.
TELLING = (
    "Cannot copy out of meta tensor", "cannot be called on meta tensors",
    "the elements decide", "a mask decides", "for 'bag_max'",
)  # fmt: skip
# pocketfft leaves its results in an order of its own; a matrix of one column lies both ways.
ANY_ORDER = ("fft.", "linalg.solve")


def described(row: OpRow, sample: Sample, place: Any) -> Any:
    call = Call(nnkit, row, sample, track=True)
    if place is not None:
        for key, tensor in call.tensors.items():
            call.tensors[key] = tensor.detach().to(place).requires_grad_(tensor.requires_grad)
    found = []
    for out in flatten(call()):
        if isinstance(out, nnkit.Tensor):
            steps = None if row.name.startswith(ANY_ORDER) else out.stride()
            node = type(out.grad_fn).__name__
            found.append((out.shape, out.dtype, out.requires_grad, steps, node))
    return found


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_without_memory(row: OpRow) -> None:
    for sample in row.samples(Maker(row, row.dtypes[0])):
        try:
            expected = described(row, sample, None)
        except Exception:
            continue
        try:
            found = described(row, sample, META)
        except (NotImplementedError, RuntimeError) as error:
            assert any(words in str(error) for words in TELLING), error
            continue
        assert found == expected


def test_no_memory_is_taken(lib: ModuleType) -> None:
    x = lib.empty(10**6, 10**6, device="meta")
    assert x.is_meta and x.device == lib.device("meta") and x.nbytes == 4 * 10**12
    assert (x @ x.mT).shape == (10**6, 10**6)
    assert x.data_ptr() == 0 and x[5:, ::2].storage_offset() == 5 * 10**6
    assert str(x) == "tensor(..., device='meta', size=(1000000, 1000000))"


def test_ranges_take_no_memory(lib: ModuleType) -> None:
    n = 10**12
    assert lib.arange(n, device="meta").shape == lib.linspace(0, 1, n, device="meta").shape == (n,)
    assert lib.logspace(0, 1, n, device="meta").shape == (n,)
    assert lib.arange(7, 2, -0.4, device="meta").shape == (13,)
    assert lib.tril_indices(10**5, 10**6, device="meta").shape == (2, 5000050000)
    assert lib.triu_indices(10**5, 10**6, 1, device="meta").shape == (2, 94999950000)
    # By nearest positions, which are counted in such a range.
    x = lib.empty(2, 1, 10**9, device="meta")
    assert lib.nn.functional.interpolate(x, scale_factor=2.0).shape == (2, 1, 2 * 10**9)


def test_what_has_no_answer(lib: ModuleType) -> None:
    x = lib.ones(2, 3, device="meta")
    for ask in (x.tolist, x.cpu, lambda: lib.ones(2, 3).copy_(x), lambda: x.nonzero()):
        with pytest.raises(NotImplementedError):
            ask()
    for ask in (x.sum().item, lambda: bool(x.sum())):
        with pytest.raises(RuntimeError):
            ask()
    with pytest.raises(RuntimeError):
        lib.add(x, lib.ones(3))
    with pytest.raises(RuntimeError):
        lib.matmul(x, x)
    with pytest.raises(RuntimeError):
        x.t().view(6)
    assert (x + lib.tensor(1.0)).is_meta


def test_writes_and_gradients(lib: ModuleType) -> None:
    x = lib.ones(2, 3, device="meta", requires_grad=True)
    y = (x * 2).clone()
    y[0] = 1
    y.add_(lib.ones(3, device="meta")).sum().backward()
    assert x.grad.is_meta and x.grad.shape == (2, 3)
    assert x.detach().normal_().uniform_(0, 1).copy_(lib.ones(3)).shape == (2, 3)
    optimizer = lib.optim.Adam([x])
    optimizer.step()
    assert optimizer.state[x]["exp_avg"].is_meta


def test_random_numbers_are_not_drawn(lib: ModuleType) -> None:
    lib.manual_seed(0)
    first = lib.rand(2)
    lib.manual_seed(0)
    lib.rand(5, device="meta")
    lib.nn.Linear(3, 3, device="meta")
    assert lib.rand(2).tolist() == first.tolist()


def test_a_device_as_context(lib: ModuleType) -> None:
    with lib.device("meta"):
        layers = lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.Embedding(5, 4)
        model = lib.nn.Sequential(*layers)
        assert all(t.is_meta for t in model.state_dict().values())
        assert lib.tensor([1.0]).is_meta and lib.arange(3).is_meta and lib.zeros(2).is_meta
        with lib.device("cpu"):
            assert not lib.zeros(2).is_meta
        with pytest.raises(ZeroDivisionError), lib.device("cpu"):
            raise ZeroDivisionError
        assert lib.zeros(2).is_meta
    assert not lib.zeros(2).is_meta
    with pytest.raises(NotImplementedError):
        model.to("cpu")
    model.to_empty(device="cpu")
    assert not any(t.is_meta for t in model.state_dict().values())
    assert isinstance(model[0].weight, lib.nn.Parameter)


def test_early_constructors_ask_no_default_device(lib: ModuleType) -> None:
    x = lib.ones(2)
    with lib.device("meta"):
        made = (
            lib.Tensor([1.0]),
            lib.Tensor(2, 3),
            lib.FloatTensor(2),
            lib.LongTensor([1]),
            x.new(2),
        )
        assert not any(t.is_meta for t in made)
        assert lib.UntypedStorage(4).device.type == "cpu"
    for make in (lib.Tensor, lib.FloatTensor, x.new):
        assert make(2, device="cpu").shape == (2,)
        with pytest.raises(RuntimeError, match="expects device type: cpu but device type: meta"):
            make(2, device="meta")
    with pytest.raises(RuntimeError, match="expects device type: meta but device type: cpu"):
        x.to("meta").new(2, device="cpu")


def test_a_default_device_holds_for_what_exists(lib: ModuleType) -> None:
    x, array = lib.ones(2), np.ones(2, np.float32)
    with lib.device("meta"):
        for made in (x, array, array.data):
            assert lib.asarray(made).is_meta and not lib.asarray(made, device="cpu").is_meta
        assert lib.as_tensor(x).is_meta and lib.as_tensor(array).is_meta
        assert not lib.from_numpy(array).is_meta
        with pytest.raises(ValueError, match="can't alias tensor from device 'cpu' to 'meta'"):
            lib.asarray(x, copy=False)
    assert lib.as_tensor(x.to("meta")).is_meta


def test_modules_without_memory(lib: ModuleType) -> None:
    def shape(module: Any, *sizes: tuple) -> Any:
        found = module(*[lib.empty(*size, device="meta") for size in sizes])
        return tuple((found[0] if isinstance(found, tuple) else found).shape)

    nn = lib.nn
    assert shape(nn.Conv2d(3, 8, 3, padding=1, device="meta"), (2, 3, 8, 8)) == (2, 8, 8, 8)
    assert shape(nn.LSTM(3, 4, device="meta"), (5, 2, 3)) == (5, 2, 4)
    layer = nn.TransformerEncoderLayer(8, 2, device="meta")
    assert shape(layer, (5, 2, 8)) == (5, 2, 8)
    assert shape(nn.MaxPool2d(2), (1, 1, 4, 4)) == (1, 1, 2, 2)


def test_loading_into_it(lib: ModuleType) -> None:
    model = lib.nn.Linear(2, 2, device="meta")
    state = lib.nn.Linear(2, 2).state_dict()
    with pytest.warns(UserWarning, match="assign=True"):
        model.load_state_dict(state)
    assert model.weight.is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.load_state_dict(state, assign=True)
    assert not model.weight.is_meta and model.weight.requires_grad


def test_copies_and_pickles(lib: ModuleType) -> None:
    x = lib.empty(4, 3, device="meta")[:, 1:]
    pickled = pickle.loads(pickle.dumps(x))
    assert pickled.is_meta and pickled.shape == (4, 2) and pickled.stride() == (3, 1)
    copied = copy.deepcopy(x)
    assert copied.is_meta and copied.shape == (4, 2)
    assert copy.deepcopy(lib.nn.Linear(2, 3, device="meta")).weight.is_meta


def test_a_file_of_torch(torch: ModuleType, tmp_path: Any) -> None:
    torch.save({"a": torch.empty(2, 3, device="meta").t()}, tmp_path / "x.pt")
    loaded = nnkit.load(tmp_path / "x.pt")["a"]
    assert loaded.is_meta and loaded.shape == (3, 2) and loaded.stride() == (1, 3)


def test_an_index_on_another_device() -> None:
    """One on the CPU is brought to what it reads; no other is."""
    x, index = nnkit.zeros(3, 2), nnkit.tensor([0, 1, 1, 2])
    assert x.to("meta")[index].shape == (4, 2)
    assert x.to("meta")[:, index[:2], None].device.type == "meta"
    for place in (index.to("meta"), (slice(None), index.to("meta"))):
        with pytest.raises(RuntimeError, match="indices should be either on cpu"):
            x[place]


def test_triangle_indices_lie_on_the_default_device() -> None:
    with nnkit.device("meta"):
        assert nnkit.triu_indices(3, 3).device == nnkit.tril_indices(3, 3).device
        assert nnkit.triu_indices(3, 3).device.type == "meta"
    assert nnkit.pdist(nnkit.zeros(4, 2, device="meta")).device.type == "meta"


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_on_another_device(lib: ModuleType, name: str) -> None:
    function = getattr(lib.nn.functional, name)
    for device, other in (("meta", "cpu"), ("cpu", "meta")):
        x, running = lib.ones(2, 5, 5, device=device), lib.ones(5, device=other)
        with pytest.raises(RuntimeError):
            function(x, running, running.clone(), None, None, True)
