"""`show_config`: which versions, devices and kernels this installation runs on."""

from __future__ import annotations


def show_config() -> str:
    """A description of the installation, as text of ``name: value`` lines.

    Example:
        >>> import nnkit
        >>> nnkit.show_config().split(":")[0]
        'nnkit'
    """
    # Imported here, not above: they would double the time of `import nnkit`.
    import os
    import platform
    import sys

    import nnkit
    from nnkit.backend.cpu import build

    lines = {
        "nnkit": f"{nnkit.__version__}, from {os.path.dirname(nnkit.__file__)}",
        "Python": f"{platform.python_version()} ({sys.implementation.name})",
        "platform": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "numpy": _version("numpy"),
        "ml_dtypes": _version("ml_dtypes"),
        "BLAS": build.blas(),
        "CPU kernels": build.kernels(),
        "CUDA": cupy(),
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def cupy() -> str:
    """The package that stands for CuPy, which CUDA is used through, and its version."""
    for package in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        if _version(package) != "not installed":
            return f"{package} {_version(package)}"
    return "CuPy is not installed"
