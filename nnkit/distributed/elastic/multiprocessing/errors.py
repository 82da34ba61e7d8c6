"""`record`: a decorator of the main function of a rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def record(fn: Function, error_handler: Any = None) -> Function:
    """``fn``, the main function of a rank, which may leave by ``sys.exit(0)``.

    Its errors need no record: a rank tells the others, and the launcher, why it ends.

    Example:
        >>> from nnkit.distributed.elastic.multiprocessing.errors import record
        >>> @record
        ... def main() -> int:
        ...     return 3
        >>> main()
        3
    """

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit as end:
            if end.code:
                raise
        return None

    return call  # type: ignore[return-value]
