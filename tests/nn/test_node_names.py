"""The nodes of layers and losses are called as torch calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def _x(T: Any, *shape: int) -> Any:
    return T.ones(shape).cumsum(-1).requires_grad_()


def _like(loss: str, **options: Any) -> Callable[[Any], Any]:
    def call(T: Any) -> Any:
        target = T.ones(3, 4) / 2
        return getattr(T.nn.functional, loss)(_x(T, 3, 4).sigmoid(), target, **options)

    return call


def _labelled(loss: str, *spatial: int, **options: Any) -> Callable[[Any], Any]:
    def call(T: Any) -> Any:
        target = T.zeros(2, *spatial, dtype=T.int64)
        return getattr(T.nn.functional, loss)(_x(T, 2, 3, *spatial), target, **options)

    return call


def _of(name: str, shape: tuple[int, ...], *arguments: Any, **options: Any) -> Callable[[Any], Any]:
    def call(T: Any) -> Any:
        out = getattr(T.nn.functional, name)(_x(T, *shape), *arguments, **options)
        return out[0] if isinstance(out, tuple) else out

    return call


def _layer(kind: str, *arguments: Any, shape: tuple[int, ...], **options: Any) -> Callable:
    def call(T: Any) -> Any:
        out = getattr(T.nn, kind)(*arguments, **options)(_x(T, *shape))
        return out[0] if isinstance(out, tuple) else out

    return call


def _bag(mode: str, **options: Any) -> Callable[[Any], Any]:
    return lambda T: T.nn.functional.embedding_bag(
        T.tensor([[0, 1]]), _x(T, 3, 4), mode=mode, **options
    )


def _copied(T: Any) -> Any:
    return T.zeros(2, 3).copy_(_x(T, 2, 3))


LINE, IMAGE, VOLUME = (2, 4, 8), (2, 4, 8, 8), (1, 4, 8, 8, 8)
CALLS: dict[str, Callable[[Any], Any]] = {
    "linear of a matrix": _layer("Linear", 4, 2, shape=(3, 4)),
    "linear of a batch": _layer("Linear", 4, 2, shape=(2, 3, 4)),
    "linear of a row": _layer("Linear", 4, 2, shape=(4,)),
    "product of a matrix": _layer("Linear", 4, 2, False, shape=(3, 4)),
    "product of a batch": _layer("Linear", 4, 2, False, shape=(2, 3, 4)),
    "product of a row": _layer("Linear", 4, 2, False, shape=(4,)),
    "GRU cell": _layer("GRUCell", 4, 2, shape=(3, 4)),
    "LSTM cell": _layer("LSTMCell", 4, 2, shape=(3, 4)),
    "cell": _layer("RNNCell", 4, 2, shape=(3, 4)),
    "cell of relu": _layer("RNNCell", 4, 2, nonlinearity="relu", shape=(3, 4)),
    "convolution of a sample": _layer("Conv2d", 4, 2, 1, shape=IMAGE[1:]),
    "instance norm": _layer("InstanceNorm2d", 4, shape=IMAGE),
    "rms norm": _layer("RMSNorm", 8, shape=LINE),
    **{
        f"{loss} {options}": _like(loss, **options)
        for loss in ("l1_loss", "kl_div", "poisson_nll_loss", "mse_loss", "hinge_embedding_loss")
        for options in ({}, {"reduction": "sum"}, {"reduction": "none"})
    },
    "logarithms": _like("kl_div", log_target=True, reduction="none"),
    **{
        f"{loss} {spatial} {options}": _labelled(loss, *spatial, **options)
        for loss in ("nll_loss", "cross_entropy")
        for spatial in ((), (4,), (4, 4), (2, 2, 2))
        for options in ({}, {"reduction": "none"})
    },
    "smoothing": _labelled("cross_entropy", label_smoothing=0.1),
    **{f"bags: {mode}": _bag(mode) for mode in ("sum", "mean", "max")},
    "celu": _of("celu", LINE),
    "rrelu": _of("rrelu", LINE),
    "rrelu in training": _of("rrelu", LINE, training=True),
    "pixel_shuffle": _of("pixel_shuffle", IMAGE, 2),
    "pixel_unshuffle": _of("pixel_unshuffle", IMAGE, 2),
    "channel_shuffle": _of("channel_shuffle", IMAGE, 2),
    **{
        f"{pool}{axes}d": _of(f"{pool}{axes}d", shape, 2)
        for pool in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool")
        for axes, shape in enumerate((LINE, IMAGE, VOLUME), 1)
    },
    **{
        f"{mode} of {len(shape)}": _of("interpolate", shape, scale_factor=2, mode=mode)
        for mode, shape in (
            ("nearest", LINE), ("nearest", VOLUME), ("nearest-exact", IMAGE), ("linear", LINE),
            ("bilinear", IMAGE), ("bicubic", IMAGE), ("trilinear", VOLUME),
        )
    },
    "copied": _copied,
    "circular": _of("pad", IMAGE, (1, 1, 1, 1), "circular"),
    "smoothed": _of("interpolate", IMAGE, size=3, mode="bilinear", antialias=True),
    **{
        f"{mode} {len(shape)} {pad}": _of("pad", shape, pad, mode)
        for mode in ("reflect", "replicate")
        for shape, pad in (
            (LINE, (1, 1)), (LINE[1:], (1, 1)), (LINE, (1, 1, 1, 1)), (IMAGE, (1, 1, 1, 1)),
            (VOLUME, (1,) * 6),
        )
    },
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*reduction:UserWarning")
@pytest.mark.parametrize("call", CALLS)
def test_nodes_are_called_as_in_torch(call: str, torch: Any) -> None:
    import nnkit

    assert CALLS[call](nnkit).grad_fn.name() == CALLS[call](torch).grad_fn.name()


def test_nodes_of_one_operation_here_and_several_in_torch() -> None:
    import nnkit

    names = [CALLS[call](nnkit).grad_fn.name() for call in ("linear of a batch", "l1_loss {}")]
    assert names == ["ViewBackward0", "MeanBackward0"]
