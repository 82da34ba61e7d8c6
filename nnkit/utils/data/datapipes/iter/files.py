"""Streams of files: their names, the files opened, what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nnkit.backend.warning import warn
from nnkit.utils.data.datapipes.datapipe import IterDataPipe, lengths_of
from nnkit.utils.data.datapipes.decorators import functional_datapipe
from nnkit.utils.data.datapipes.iter.wrapping import IterableWrapperIterDataPipe
from nnkit.utils.data.datapipes.utils.common import (
    get_file_binaries_from_pathnames,
    get_file_pathnames_from_root,
)
from nnkit.utils.data.datapipes.utils.decoder import (
    Decoder,
    basichandlers,
    extension_extract_fn,
    imagehandler,
)


class _Announced(IterDataPipe[Any]):
    """The base of streams whose length is what the program says."""

    length = -1

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_Announced):
    """The names of the files in folders (``list_files``).

    Args:
        root: a folder, several, or a stream of them.
        masks: patterns of a shell of which a name follows one; an empty string for all names.
        recursive: whether the folders within are searched too.
        abspath: whether the names begin at the root of the file system.
        non_deterministic: whether the names come as the system gives them, instead of sorted.
        length: what ``len`` tells.

    Raises:
        OSError: (in a pass) a folder cannot be read.
    """

    def __init__(
        self,
        root: Any = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        roots = [root] if isinstance(root, str) else root
        is_stream = isinstance(roots, IterDataPipe)
        self.datapipe = roots if is_stream else IterableWrapperIterDataPipe(roots)
        self.masks = masks
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            yield from get_file_pathnames_from_root(
                root, self.masks, self.recursive, self.abspath, self.non_deterministic
            )


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_Announced):
    """Files by their names: the name and the file, opened for reading (``open_files``).

    A file is closed when nobody holds it any more.

    Args:
        datapipe: the names.
        mode: "r", "b" or "t", or two of them, as of `open`.
        encoding: of text.
        length: what ``len`` tells.

    Raises:
        ValueError: the mode is none of these, or bytes are to have an encoding.
        OSError: (in a pass) a file cannot be opened.
    """

    def __init__(
        self,
        datapipe: Iterable[str],
        mode: str = "r",
        encoding: str | None = None,
        length: int = -1,
    ) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe = datapipe
        self.mode = mode
        self.encoding = encoding
        self.length = length

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[tuple[str, Any]]):
    """What is in files: the name and the content, or pieces of it (``read_from_stream``).

    Args:
        datapipe: names and files.
        chunk: the size of a piece; all at once when not given.

    Example:
        >>> import io
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> file = io.StringIO("abc")
        >>> list(IterableWrapper([("f", file)], deepcopy=False).read_from_stream(2))
        [('f', 'ab'), ('f', 'c')]
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name, stream in self.datapipe:
            while piece := stream.read(self.chunk):
                yield name, piece
            stream.close()


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[tuple[str, Any]]):
    """Files decoded by the endings of their names: the name and the object (``routed_decode``).

    Args:
        datapipe: names and files of bytes.
        handlers: from a key and bytes to an object or None, asked in turn; those of texts and
            images when not given.
        key_fn: from the name to the key.
    """

    def __init__(
        self,
        datapipe: Any,
        *handlers: Callable[..., Any],
        key_fn: Callable[[str], Any] = extension_extract_fn,
    ) -> None:
        warn("`routed_decode` is deprecated, as it is in torch", FutureWarning)
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or self._usual()), key_fn=key_fn)

    @staticmethod
    def _usual() -> tuple[Callable[..., Any], ...]:
        return basichandlers, imagehandler("torch")

    def add_handler(self, *handler: Callable[..., Any]) -> None:
        """Ask further handlers when those before them give None."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for sample in self.datapipe:
            name = sample[0]
            yield name, self.decoder(tuple(sample))[name]

    def __len__(self) -> int:
        return lengths_of(self, [self.datapipe])[0]
