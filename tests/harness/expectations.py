"""What torch answers to a case: asked where it is installed, read from files where it is not."""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path

import numpy as np

from tests.harness.call import Result
from tests.harness.cases import Case
from tests.random_cases import draws_from_mkl

DRAWN = ("random", "dropout")  # subjects whose numbers may be of this machine alone
FOLDER = Path(__file__).parent.parent / "expected" / "ops"

try:
    import torch
except ImportError:
    torch = None


def torch_answers(subject: str) -> bool:
    """Whether torch is asked here, or the frozen file of the subject is read."""
    return torch is not None and not (subject in DRAWN and _draws_from_mkl())


@functools.cache
def _draws_from_mkl() -> bool:
    return draws_from_mkl(torch)


def ask(case: Case) -> Result:
    """torch's result, computed now by its own kernels: oneDNN's depend on the processor (`gelu` of
    infinity is NaN with AVX-512). Its warnings are none of ours."""
    assert torch is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.backends.mkldnn.flags(enabled=False):
            return case.run(torch)


def answer(case: Case, subject: str) -> Result:
    """torch's result, asked, or read as the files hold it."""
    return ask(case) if torch_answers(subject) else frozen(subject)[case.key]


@functools.cache
def frozen(subject: str) -> dict[str, Result]:
    """The results of a subject's file: an index and one block of bytes, so that it stays small."""
    with np.load(FOLDER / f"{subject}.npz") as stored:
        index = json.loads(stored["index"].tobytes())
        data = stored["data"].tobytes()
    results = {}
    offset = 0

    def take(entry: list) -> np.ndarray:
        nonlocal offset
        dtype, shape = np.dtype(entry[0]), tuple(entry[1])
        count = int(np.prod(shape))
        array = np.frombuffer(data, dtype, count, offset).reshape(shape)
        offset += count * dtype.itemsize
        return array

    for key, error, dtypes, outputs, gradients in index:
        arrays = [take(entry) for entry in outputs]
        grads = [entry and take(entry) for entry in gradients]
        results[key] = Result(arrays, dtypes, grads, error)
    return results


def freeze(subject: str, results: dict[str, Result]) -> Path:
    """Write a subject's results; the same results give the same bytes."""
    index, data = [], []

    def put(array: np.ndarray | None) -> list | None:
        if array is None:
            return None
        data.append(np.ascontiguousarray(array).tobytes())
        return [array.dtype.str, list(array.shape)]

    for key, result in sorted(results.items()):
        outputs = [put(array) for array in result.outputs]
        gradients = [put(gradient) for gradient in result.gradients]
        index.append([key, result.error, result.dtypes, outputs, gradients])
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{subject}.npz"
    as_bytes = json.dumps(index, separators=(",", ":")).encode()
    np.savez_compressed(
        path,
        index=np.frombuffer(as_bytes, np.uint8),
        data=np.frombuffer(b"".join(data), np.uint8),
    )
    return path
