"""A description of the environment, for reports of bugs: ``python -m nnkit.utils.collect_env``."""

from __future__ import annotations

import locale
import os
import platform
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

import nnkit
from nnkit.config import cupy

_NONE = "N/A"
_PACKAGES = ("nnkit", "torch", "numpy", "ml-dtypes", "mpi4py", "cupy", "onnx", "scipy", "nvidia")
_FORM = """\
nnkit version: {torch_version}

OS: {os}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
GPU models and configuration: {nvidia_gpu_models}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}"""


class SystemEnv(NamedTuple):
    """The findings of `get_env_info`, under torch's names; of what nnkit does not have "N/A" or
    None."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    cuda_module_loading: str
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str | None
    is_xpu_available: str
    pip_version: str
    pip_packages: str
    conda_packages: str | None
    hip_compiled_version: str
    hip_runtime_version: str
    miopen_runtime_version: str
    caching_allocator_config: str
    is_xnnpack_available: str
    cpu_info: str


def get_env_info() -> SystemEnv:
    """The versions of what nnkit runs on.

    Example:
        >>> import nnkit
        >>> from nnkit.utils import collect_env
        >>> collect_env.get_env_info().torch_version == nnkit.__version__
        True
    """
    there = nnkit.cuda.is_available()
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=nnkit.__version__,
        is_debug_build="False",
        cuda_compiled_version=None,
        gcc_version=None,
        clang_version=None,
        cmake_version=None,
        os=_system(),
        libc_version="-".join(filter(None, platform.libc_ver())) or _NONE,
        python_version=f"{sys.version} ({bits}-bit runtime)".replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=str(there),
        cuda_runtime_version=cupy() if there else None,
        cuda_module_loading=os.environ.get("CUDA_MODULE_LOADING", _NONE),
        nvidia_driver_version=None,
        nvidia_gpu_models=_gpus() if there else None,
        cudnn_version=None,
        is_xpu_available="False",
        pip_version="pip3",
        pip_packages=_packages(),
        conda_packages=None,
        hip_compiled_version=_NONE,
        hip_runtime_version=_NONE,
        miopen_runtime_version=_NONE,
        caching_allocator_config=_NONE,
        is_xnnpack_available="False",
        cpu_info=_processor(),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """The findings of `get_env_info`, as text."""
    texts = {name: "No CUDA" if v is None else v for name, v in envinfo._asdict().items()}
    texts["pip_packages"] = "\n".join(
        f"[{envinfo.pip_version}] {line}" for line in envinfo.pip_packages.splitlines()
    )
    return _FORM.format(**texts)


def get_pretty_env_info() -> str:
    """`get_env_info` as text.

    Example:
        >>> from nnkit.utils import collect_env
        >>> collect_env.get_pretty_env_info().split(":")[0]
        'nnkit version'
    """
    return pretty_str(get_env_info())


def main() -> None:
    """Print `get_pretty_env_info`."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        name = f"{platform.system()} {platform.release()}"
    return f"{name} ({platform.machine()})"


def _gpus() -> str:
    count = nnkit.cuda.device_count()
    return "\n".join(f"GPU {i}: {nnkit.cuda.get_device_name(i)}" for i in range(count))


def _processor() -> str:
    """The processors' model and number, and how many threads compute."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(locale.getpreferredencoding(False)) if path.exists() else ""
    fields = dict(line.split("\t: ", 1) for line in text.splitlines() if "\t: " in line)
    model = fields.get("model name", platform.processor() or platform.machine())
    threads = nnkit.get_num_threads()
    return f"Model name: {model}\nCPU(s): {os.cpu_count()}\nThreads that compute: {threads}"


def _packages() -> str:
    """The installed packages that numbers depend on, as pip lists them."""
    found = {d.metadata["Name"]: d.version for d in distributions()}
    chosen = (n for n in found if n and n.lower().replace("_", "-").startswith(_PACKAGES))
    return "\n".join(f"{name}=={found[name]}" for name in sorted(chosen, key=str.lower))


if __name__ == "__main__":
    main()
