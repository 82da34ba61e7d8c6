"""Index expressions, thousands of random ones, against torch: reading, writing, and gradients."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.ops.indexing import index as index_module
from nnkit.autograd.ops.indexing.index import Index
from tests.frameworks import raises


def random_shape() -> tuple[int, ...]:
    return tuple(random.choice([0, 1, 2, 2, 3, 4]) for _ in range(random.randint(0, 4)))


def random_slice(size: int) -> slice:
    low, high = sorted(random.choices(range(-size - 1, size + 2), k=2))
    start, stop = random.choice([low, None]), random.choice([high, None])
    return slice(start, stop, random.choice([None, 1, 2]))


def random_array(shape: list[int]) -> tuple[np.ndarray, int]:
    """An index array for the first of these dimensions (or a mask for several), and how many."""
    kind = random.random()
    if kind < 0.2 and len(shape) > 1:
        return np.random.rand(*shape[:2]) < 0.5, 2
    if kind < 0.5 or not shape[0]:
        return np.random.rand(shape[0]) < 0.6, 1
    if kind < 0.6:
        return np.array(random.randrange(-shape[0], shape[0])), 1
    size = random.choice([(2,), (2,), (1,), (3, 2), (0,)])
    dtype = random.choice(["int64", "int32"])
    return np.random.randint(-shape[0], shape[0], size).astype(dtype), 1


def random_index(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Any mixture of what an index may hold, right or wrong."""
    items: list[Any] = []
    dim, has_ellipsis = 0, False
    while random.random() < 0.85 and len(items) < 7:
        kind = random.random()
        if kind < 0.12:
            items.append(None)
        elif kind < 0.17:
            items.append(random.random() < 0.8)
        elif kind < 0.27 and not has_ellipsis:
            items.append(...)
            has_ellipsis = True
            dim += random.randint(0, max(len(shape) - dim, 0))
        elif dim >= len(shape):
            if random.random() < 0.05:
                items.append(0)  # one too many
            break
        elif kind < 0.45:
            items.append(random.randint(-shape[dim], max(shape[dim] - 1, 0)))
            dim += 1
        elif kind < 0.7:
            items.append(random_slice(shape[dim]))
            dim += 1
        else:
            array, used = random_array(list(shape[dim:]))
            items.append(array)
            dim += used
    return tuple(items)


def tensors_in(framework: Any, index: tuple) -> tuple:
    return tuple(framework.tensor(i) if isinstance(i, np.ndarray) else i for i in index)


def values(*shape: int) -> np.ndarray:
    return np.asarray(np.random.standard_normal(shape))


def numbers(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy()


def outcome(function: Any, *arguments: Any) -> tuple[Any, str]:
    """The result, or the name of the exception's type."""
    try:
        return function(*arguments), ""
    except Exception as error:
        return None, type(error).__name__


def layouts(array: np.ndarray) -> np.ndarray:
    """The array, or its values in another memory order."""
    return random.choice([array, array.copy("F"), np.repeat(array, 2, -1)[..., ::2]])


@pytest.mark.parametrize("seed", range(10))
def test_random_reads_and_writes(seed: int, torch) -> None:
    random.seed(seed)
    np.random.seed(seed)
    worked = 0
    for _ in range(250):
        array = layouts(values(*random_shape(), random.choice([1, 2, 3])))
        index = random_index(array.shape)
        what = f"{array.shape} {index}"
        mine = nnkit.from_numpy(array).requires_grad_()
        theirs = torch.from_numpy(array.copy()).requires_grad_()
        got, my_error = outcome(lambda x=mine, i=index: x[tensors_in(nnkit, i)])
        want, error = outcome(lambda x=theirs, i=index: x[tensors_in(torch, i)])
        assert my_error == error, what
        if error:
            continue
        np.testing.assert_array_equal(numbers(got), numbers(want), what)
        assert (got._base is not None) == (want._base is not None), what
        compare_gradients(torch, mine, theirs, got, want, what)
        compare_writes(torch, array, index, got.shape, what)
        worked += 1
    assert worked > 150


def compare_gradients(torch: Any, mine: Any, theirs: Any, got: Any, want: Any, what: str) -> None:
    cotangent, second = values(*got.shape), values(*mine.shape)
    g, tg = nnkit.tensor(cotangent, requires_grad=True), torch.tensor(cotangent, requires_grad=True)
    (grad,) = nnkit.autograd.grad(got, mine, g, create_graph=True)
    (theirs_grad,) = torch.autograd.grad(want, theirs, tg, create_graph=True)
    np.testing.assert_allclose(numbers(grad), numbers(theirs_grad), 1e-12, 1e-14, err_msg=what)
    (again,) = nnkit.autograd.grad(grad, g, nnkit.tensor(second))
    (theirs_again,) = torch.autograd.grad(theirs_grad, tg, torch.tensor(second))
    np.testing.assert_array_equal(numbers(again), numbers(theirs_again), what)


def compare_writes(
    torch: Any, array: np.ndarray, index: tuple, shape: tuple[int, ...], what: str
) -> None:
    """``x[index] = value`` on a clone, with a value that is broadcast; then both gradients."""
    value = values(*random.choice([shape, shape[1:], (1, *shape), ()]))
    results = []
    for framework in (nnkit, torch):
        x = framework.tensor(array.copy(), requires_grad=True)
        v = framework.tensor(value, requires_grad=True)
        y = x.clone()
        y[tensors_in(framework, index)] = v
        assert y._version == 1, what
        (y * y).sum().backward()
        results.append([numbers(t) for t in (y, x.grad, v.grad)])
        plain = framework.tensor(array.copy())
        plain[tensors_in(framework, index)] = framework.tensor(value)
        np.testing.assert_array_equal(numbers(plain), numbers(y), what)
    if any(isinstance(i, np.ndarray) and i.dtype.kind == "i" for i in index):
        # Which of several writes to one place wins is open, and so is whose gradient it gets.
        results = [[y, gx] for y, gx, _ in results]
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, 1e-12, 1e-14, err_msg=what)


def test_numbers_are_written_in_the_dtype_of_the_tensor(lib) -> None:
    x = lib.zeros(4, dtype=lib.int64)
    x[0] = 2.7
    x[1] = True
    x[lib.tensor([2, 3])] = 9
    assert x.tolist() == [2, 1, 9, 9]


def test_values_are_cast_where_they_are_copied(lib) -> None:
    x = lib.zeros(3)
    x[:2] = lib.tensor([1, 2])
    x[x > 1] = lib.tensor([7.0], dtype=lib.float64)
    assert x.tolist() == [1.0, 7.0, 0.0]


@pytest.mark.parametrize(
    ("error", "noun", "index", "value"),
    [
        (TypeError, "list", 0, [1.0]),
        (TypeError, "str", 0, "a"),
        (RuntimeError, "2", 0, (2,)),
        (RuntimeError, r"\[2\]", [0, 1], (2,)),
        (RuntimeError, "float64", [0, 1], (2, 3, "float64")),
        (RuntimeError, "complex|1j", [0, 1], 1j),
        (IndexError, "index 5", 5, 0.0),
        (IndexError, "index 5", [0, 5], 0.0),
        (ValueError, "step", slice(None, None, -1), 0.0),
    ],
)
def test_wrong_writes(lib, error: type, noun: str, index: Any, value: Any) -> None:
    x = lib.zeros(3, 3)
    if isinstance(value, tuple):
        *shape, dtype = value if isinstance(value[-1], str) else (*value, "float32")
        value = lib.zeros(shape, dtype=getattr(lib, dtype))
    with raises(lib, error, noun):
        x[index] = value


def test_uint8_is_a_mask(lib) -> None:
    mask = lib.tensor([1, 0, 1], dtype=lib.uint8)
    with pytest.warns(UserWarning, match="uint8"):
        assert lib.tensor([1, 2, 3])[mask].tolist() == [1, 3]


def test_a_short_list_of_lists_is_a_tuple(lib) -> None:
    x = lib.arange(12).reshape(3, 4)
    with pytest.warns(UserWarning, match="tuple"):
        assert x[[[0, 1], [1, 2]]].tolist() == [1, 6]
    with pytest.warns(UserWarning, match="tuple"):
        assert x[[0, slice(None)]].tolist() == [0, 1, 2, 3]
    assert x[[0, 2]].tolist() == x[(lib.tensor([0, 2]),)].tolist()
    assert x[range(2)].shape == (2, 4)
    assert x[lib.tensor(1) : lib.tensor(3)].shape == (2, 4)


def test_overlapping_assignment(lib) -> None:
    x = lib.arange(5)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3]


def test_repeated_indices_add_up_in_the_gradient(lib) -> None:
    table = lib.zeros(3, 2, requires_grad=True)
    table[lib.tensor([2, 0, 2, 2])].sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]]


def test_names_of_nodes(lib) -> None:
    x = lib.zeros(2, 3, requires_grad=True) * 1
    i = lib.tensor([0])
    for index, name in [
        (0, "Select"), (slice(1), "Slice"), ((0, slice(1)), "Slice"), ((slice(None), 0), "Select"),
        (None, "Unsqueeze"), (..., "Alias"), ((..., 0), "Select"), (i, "Index"),
        ((0, i), "Index"), (x > 0, "Index"),
    ]:  # fmt: skip
        assert x[index].grad_fn.name() == f"{name}Backward0"


@pytest.mark.parametrize(
    ("shape", "index", "strides"),
    [
        ((1, 3), "x[False]", (3, 0, 1)),
        ((2, 1, 3), "x[False]", (3, 0, 0, 1)),
        ((1, 3), "x[..., True, None]", (3, 1, 1, 1)),
        ((2, 1, 3), "x[..., 0, True]", (1, 1, 1)),
        ((2, 3, 4), "x[:, True]", (12, 12, 4, 1)),
        ((2, 3), "x[None, x > -1]", (6, 1)),
        ((2, 3), "x[:, lib.tensor([[0]])]", (1, 1, 1)),
        ((3, 2), "x.t()[lib.tensor([[1], [0]])]", (3, 3, 1)),
        ((0, 2), "x[..., 1]", (2,)),
        ((2, 3, 4), "x[3:, :, lib.tensor([7])]", (3, 1, 1)),
    ],
)
def test_strides_of_dimensions_with_at_most_one_element(lib, shape, index, strides) -> None:
    names = {"lib": lib, "x": lib.arange(float(np.prod(shape))).reshape(shape)}
    assert eval(index, names).stride() == strides


def test_positions_are_not_looked_at_where_nothing_is_read(lib) -> None:
    x = lib.zeros(2, 3, 4, requires_grad=True)
    y = x[[0, 1], 3:1, lib.tensor([7])]
    y.sum().backward()
    assert y.shape == (2, 0) and x.grad.sum() == 0
    with lib.no_grad():
        x[lib.tensor([7]), 3:1] = 1.0
    with raises(lib, RuntimeError, "shape mismatch"):
        x.detach()[lib.tensor([7]), 3:1] = lib.zeros(5, 5)
    with raises(lib, IndexError, "size 0"):
        lib.zeros(0, 2)[lib.tensor([0]), 3:1]


def test_several_ellipses(lib) -> None:
    x = lib.zeros(2, 3, 4)
    assert x[0, ..., ...].shape == (3, 4)
    assert x[..., [0, 1], ...].shape == (2, 3, 2)
    for index in [(0, ..., ..., None), (0, ..., ..., 0), (..., ..., lib.tensor([0]))]:
        with raises(lib, IndexError, "too many"):
            x[index]


@pytest.mark.filterwarnings("ignore:indexing with")
def test_what_is_refused_first(lib) -> None:
    x = lib.zeros(2)
    with raises(lib, TypeError, "NoneType"):
        x[5] = None
    with raises(lib, TypeError, "float32"):
        x[0] = np.float32(3)
    with raises(lib, ValueError, "Overflow"):
        x[0] = 1 << 63
    with raises(lib, IndexError, "too many"):
        x[0, slice(0, 1.5)]
    with raises(lib, RuntimeError, "uint8"):
        x[lib.tensor([1, 0], dtype=lib.uint8)] = 1.0
    x[False] = lib.zeros(7)
    assert x.tolist() == [0.0, 0.0]


def test_masks_without_dimensions_are_none_to_index_put(lib) -> None:
    x, value = lib.zeros(2, 3), lib.tensor([[4.0]])
    assert x.index_put((lib.tensor(True),), value).sum() == 24
    assert x.index_put((lib.tensor([1]), lib.tensor(False)), value).sum() == 12
    assert x.index_put((lib.ones(2, 3) > 0,), value).sum() == 24
    with raises(lib, IndexError, "too many"):
        x[0].index_put((lib.tensor([1]), lib.tensor(True)), value)


def test_filling_has_a_node_of_its_own(lib) -> None:
    x, value = lib.zeros(2, 3, requires_grad=True) * 1, lib.tensor(2.0, requires_grad=True)
    x[()] = value
    assert x.grad_fn.name() == "FillBackward3"
    x.sum().backward()
    assert value.grad == 6


@pytest.mark.parametrize("short", ["max", "min"])
def test_short_words_of_scatter_reduce(lib, short: str) -> None:
    x, i = lib.tensor([5.0, 6.0, 7.0]), lib.tensor([0, 0, 2])
    src = lib.tensor([1.0, 9.0, 3.0])
    for own in (True, False):
        found, expected = (
            x.scatter_reduce(0, i, src, word, include_self=own) for word in (short, f"a{short}")
        )
        assert lib.equal(found, expected)
        assert lib.equal(x.clone().scatter_reduce_(0, i, src, short, include_self=own), expected)


def test_compiled_division(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuples are divided as Python divides them, errors included."""
    bounds = (None, 0, 1, -2, 9, 2**70)
    slices = [slice(*b) for b in [*itertools.product(bounds, bounds), (0, 1.5), (True, None)]]
    steps = [slice(None, 9, step) for step in (1, 2, 0, -1)]
    items = (0, 2, -3, 3, 2**70, True, None, ..., *slices, *steps)

    def divided(expression: tuple, x: nnkit.Tensor) -> Any:
        try:
            index = Index(expression, x)
        except Exception as error:
            return type(error), str(error)
        return index.basic, index.advanced, index.last

    for shape in ((), (3,), (3, 4), (3, 0, 2), (1, 3, 2)):
        x = nnkit.zeros(shape)
        pairs = itertools.product(items, repeat=2)
        several = (tuple(random.choices(items, k=random.randint(3, 5))) for _ in range(1000))
        expressions = [(), *((item,) for item in items), *pairs, *several]
        found = [divided(expression, x) for expression in expressions]
        with monkeypatch.context() as patch:
            patch.setattr(index_module, "divide_basic", lambda *_: None)
            assert found == [divided(expression, x) for expression in expressions]
