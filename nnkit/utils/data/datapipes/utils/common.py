"""Streams of files, names of files, and checks of the functions that data pipes call."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import io
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from nnkit.backend.warning import warn

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Check that a function takes as many arguments as columns are given to it.

    Args:
        fn: any function; one whose signature is unknown is not checked.
        input_col: an index or a key, several in a list or tuple, or None for the whole sample.

    Raises:
        ValueError: it does not.
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return
    columns = input_col if isinstance(input_col, list | tuple) else [input_col]
    try:
        signature.bind(*columns)
    except TypeError as error:
        name = getattr(fn, "__name__", fn)
        raise ValueError(
            f"The function {name} does not take {len(columns)} positional arguments: {error}"
        ) from None


def _check_unpickable_fn(fn: Any) -> None:
    """Warn of a function that cannot be pickled, and therefore not sent to a worker.

    Raises:
        TypeError: it is no function.
    """
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is received")
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__qualname__", "") if inspect.isfunction(fn) else ""
    if "<locals>" in name or name.endswith("<lambda>"):
        kind = "Local" if "<locals>" in name else "Lambda"
        warn(
            f"{kind} function is not supported by pickle: a function of a module, or a "
            "functools.partial of one, is"
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name is like one of the patterns of a shell; no pattern is like all names."""
    masks = [masks] if isinstance(masks, str) and masks else masks
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in masks)


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The names of the files in a folder whose last part is like one of the patterns.

    Args:
        root: a folder, or one file.
        masks: patterns of a shell; an empty string for all files.
        recursive: whether the folders within are searched too.
        abspath: whether the names begin at the root of the file system.
        non_deterministic: whether the names come as the system gives them, instead of sorted.

    Raises:
        OSError: a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        warn(f"{error.filename}: {error.strerror}")
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, folders, files in os.walk(root, onerror=refuse):
        if not non_deterministic:
            folders.sort()
            files.sort()
        if abspath:
            folder = os.path.abspath(folder)
        yield from (os.path.join(folder, name) for name in files if match_masks(name, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Files by their names, opened: the name and a `StreamWrapper` of each.

    Raises:
        TypeError: a name is no string.
    """
    if mode in ("b", "t"):
        mode = f"r{mode}"
    for name in [pathnames] if not isinstance(pathnames, Iterable) else pathnames:
        if not isinstance(name, str):
            raise TypeError(f"Expected string type for pathname, but got {type(name)}")
        yield name, StreamWrapper(open(name, mode, encoding=encoding))


def validate_pathname_binary_tuple(data: Any) -> None:
    """Check that something is a name and a stream of bytes.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    name, stream = data
    if not isinstance(name, str):
        raise TypeError(f"pathname should be a string, but it is type {type(name)}")
    if not isinstance(stream, io.IOBase | StreamWrapper):
        raise TypeError(f"binary stream should be an IOBase, but it is type {type(stream)}")


class StreamWrapper:
    """A stream that is closed when nobody holds it any more, and has the stream's own methods.

    Args:
        file_obj: the stream.
        parent_stream: the wrapper of the archive that it is a part of, which is closed with the
            last of its parts after `autoclose`.
        name: for `repr`.

    Raises:
        RuntimeError: the parent is no StreamWrapper.
    """

    session_streams: ClassVar[dict[Any, int]] = {}  # the streams that are open, for debugging
    debug_unclosed_streams = False
    closed = True  # until it is made
    parent_stream: StreamWrapper | None = None

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        if parent_stream is not None and not isinstance(parent_stream, StreamWrapper):
            raise RuntimeError(
                f"Parent stream should be StreamWrapper, {type(parent_stream)} was given"
            )
        self.file_obj = file_obj
        self.name = name
        self.child_counter = 0
        self.close_on_last_child = False
        self.closed = False
        self.parent_stream = parent_stream
        if parent_stream is not None:
            parent_stream.child_counter += 1
        if self.debug_unclosed_streams:
            self.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close all wrappers in a structure of dictionaries, lists and tuples."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif depth <= 10 and isinstance(v, dict | list | tuple):
            for each in v.values() if isinstance(v, dict) else v:
                cls.close_streams(each, depth + 1)

    def __getattr__(self, name: str) -> Any:
        if name == "file_obj":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self.file_obj, name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the stream, and its parent when no other part of that is left."""
        if self.closed:
            return
        self.closed = True
        self.session_streams.pop(self, None)
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if parent.close_on_last_child and not parent.child_counter:
                parent.close()
        close = getattr(self.file_obj, "close", None)
        if close is not None:
            close(*args, **kwargs)

    def autoclose(self) -> None:
        """Close the stream when its last part is closed, now if it has none."""
        self.close_on_last_child = True
        if not self.child_counter:
            self.close()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.file_obj)})

    def __del__(self) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        named = "" if self.name is None else f"{self.name},"
        return f"StreamWrapper<{named}{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.file_obj = obj
        self.closed = False
        self.name, self.child_counter, self.close_on_last_child = None, 0, False
