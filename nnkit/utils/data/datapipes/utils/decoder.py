"""Decoders of files by the endings of their names."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from nnkit.autograd.ops.exchange.interchange import frombuffer
from nnkit.backend.dtype import float32, uint8
from nnkit.utils.data.datapipes.utils.common import StreamWrapper

__all__ = [
    "Decoder",
    "ImageHandler",
    "MatHandler",
    "audiohandler",
    "basichandlers",
    "extension_extract_fn",
    "handle_extension",
    "imagehandler",
    "mathandler",
    "videohandler",
]

_FORMATS = "jpg jpeg png ppm pgm pbm pnm"


def _number(data: bytes) -> int | None:
    try:
        return int(data)
    except ValueError:
        return None


def _tensors(data: bytes) -> Any:
    from nnkit.serialization import load

    return load(io.BytesIO(data))


BASIC: dict[str, Callable[[bytes], Any]] = {
    "txt text transcript": lambda data: data.decode("utf-8"),
    "cls cls2 class count index inx id": _number,
    "json jsn": json.loads,
    "pickle pyd": pickle.loads,
    "pt": _tensors,
}


def basichandlers(extension: str, data: Any) -> Any:
    """The text, number, JSON, pickle or tensors that bytes hold; None for other endings.

    Example:
        >>> from nnkit.utils.data.datapipes.utils.decoder import basichandlers
        >>> basichandlers("json", b"[1, 2]")
        [1, 2]
    """
    for endings, decode in BASIC.items():
        if extension in endings.split():
            return decode(data)
    return None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """The handler that calls a function for files with one of some endings.

    Args:
        extensions: in lower case, separated by blanks; with dots those of several parts.
        f: from the data to an object.
    """
    wanted = [ending.lower().split(".") for ending in extensions.split()]

    def handler(extension: str, data: Any) -> Any:
        parts = extension.lower().split(".")
        if any(parts[-len(ending) :] == ending for ending in wanted):
            return f(data)
        return None

    return handler


# What an image becomes, of which numbers, in which colors.
imagespecs: dict[str, tuple[str, str | None, str]] = {
    f"{name}{mode}{suffix}": (kind, dtype, mode)
    for name, kind in (("", "numpy"), ("torch", "torch"))
    for mode in ("l", "rgb", "rgba")
    for suffix, dtype in (("8", "uint8"), ("", "float"))
}
imagespecs |= {f"pil{mode}": ("pil", None, mode) for mode in ("l", "rgb", "rgba")}
imagespecs |= {"torch": imagespecs["torchrgb"], "pil": imagespecs["pilrgb"]}


class ImageHandler:
    """A handler of images, which the package pillow reads.

    Args:
        imagespec: ``pil``, ``torch`` or nothing for an ndarray, then ``l``, ``rgb`` or ``rgba``,
            then ``8`` for bytes instead of floats up to 1. Tensors in color have the channels
            first.

    Raises:
        AssertionError: it is none of these.
    """

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension.lower() not in _FORMATS.split():
            return None
        from PIL import Image

        kind, dtype, mode = imagespecs[self.imagespec]
        image = Image.open(io.BytesIO(data)).convert(mode.upper())
        if kind == "pil":
            return image
        shape = image.height, image.width, *([] if mode == "l" else [len(mode)])
        pixels = frombuffer(bytearray(image.tobytes()), dtype=uint8).reshape(shape)
        if dtype == "float":
            pixels = pixels.to(float32) / 255
        if kind == "numpy":
            return pixels.numpy()
        return pixels if pixels.ndim == 2 else pixels.permute(2, 0, 1)


def imagehandler(imagespec: str) -> ImageHandler:
    """The handler of images of one kind."""
    return ImageHandler(imagespec)


def videohandler(extension: str, data: bytes) -> Any:
    """A film, which torchvision reads."""
    if extension not in "mp4 ogv mjpeg avi mov h264 mpg webm wmv".split():
        return None
    from tempfile import NamedTemporaryFile

    from torchvision.io import read_video  # pyright: ignore[reportMissingImports]

    with NamedTemporaryFile(suffix=f".{extension}") as file:
        file.write(data)
        file.flush()
        return read_video(file.name)


def audiohandler(extension: str, data: bytes) -> Any:
    """A sound, which torchaudio reads."""
    if extension not in "flac mp3 sox wav m4a ogg wma".split():
        return None
    from torchaudio import load as load_sound  # pyright: ignore[reportMissingImports]

    return load_sound(io.BytesIO(data))


class MatHandler:
    """A handler of files of MATLAB, which SciPy reads.

    Args:
        loadmat_kwargs: arguments of `scipy.io.loadmat`.
    """

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension != "mat":
            return None
        from scipy.io import loadmat

        return loadmat(io.BytesIO(data), **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """The handler of files of MATLAB."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """The ending of a file's name, without the dot."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """Decodes files by the first handler that gives something other than None.

    Args:
        handler: functions of a key and bytes.
        key_fn: from the name of a file to the key.

    Example:
        >>> from nnkit.utils.data.datapipes.utils.decoder import Decoder, basichandlers
        >>> Decoder(basichandlers)(("a.txt", b"abc"))
        {'a.txt': 'abc'}
    """

    def __init__(
        self, *handler: Callable[..., Any], key_fn: Callable[[str], Any] = extension_extract_fn
    ) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Callable[..., Any]) -> None:
        """Ask further handlers when those before them give None."""
        self.handlers += handler

    def decode1(self, key: Any, data: Any) -> Any:
        """The object of one file, or its data where no handler knows it."""
        for handler in self.handlers:
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """The objects of several files by their names; streams are read and closed."""
        return {name: self.decode1(self.key_fn(name), read(content)) for name, content in data}

    def __call__(self, data: Any) -> dict[str, Any]:
        return self.decode([data] if isinstance(data, tuple) else data)


def read(content: Any) -> Any:
    """The bytes of a stream of bytes, which is closed; anything else as it is."""
    stream = content.file_obj if isinstance(content, StreamWrapper) else content
    if not isinstance(stream, io.BufferedIOBase | io.RawIOBase):
        return content
    data = b"".join(stream)
    content.close()
    return data
