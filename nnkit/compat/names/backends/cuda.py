"""torch.backends.cuda: the choice between libraries, without effect: each task has one."""

from __future__ import annotations

from enum import Enum
from typing import Any

from nnkit.compat.passing import false
from nnkit.nn.attention import SDPBackend as SDPBackend

is_flash_attention_available = is_ck_sdpa_available = false


class _LinalgBackend(Enum):
    """torch's libraries for decompositions."""

    Default, Cusolver = range(2)


class _BlasBackend(Enum):
    """torch's libraries for products."""

    Default, Cublas, Cublaslt = range(3)


class _Preferred:
    """The preferred library for a task, which can be set and read, without effect."""

    def __init__(self, task: str, choices: type[Enum], first: Enum) -> None:
        self.__name__ = f"preferred_{task}_library"
        self._choices, self._now = choices, first

    def __call__(self, backend: Any = None) -> Enum:
        """The preferred library; ``backend`` sets another from now on.

        Raises:
            RuntimeError: there is no such one.
        """
        if isinstance(backend, str):
            known = {each.name.lower(): each for each in self._choices}
            if backend not in known:
                raise RuntimeError(
                    f"{self.__name__}(): unknown library {backend!r}, choose from: "
                    f"{', '.join(known)}"
                )
            backend = known[backend]
        elif backend is not None and not isinstance(backend, self._choices):
            raise RuntimeError(
                f"{self.__name__}(): expected the name of a library, got {type(backend).__name__}"
            )
        self._now = self._now if backend is None else backend
        return self._now


preferred_linalg_library = _Preferred("linalg", _LinalgBackend, _LinalgBackend.Default)
preferred_blas_library = _Preferred("blas", _BlasBackend, _BlasBackend.Cublas)
