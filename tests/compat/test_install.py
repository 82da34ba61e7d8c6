"""``import torch`` is answered by nnkit, in torch's own layout of files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.forks import run_after

START = "import nnkit.compat; nnkit.compat.install()\n"


def run(program: str, *arguments: str, start: str = START) -> str:
    """What a program prints, in a process of its own: torch itself may be imported in this one."""
    done = run_after(start, program, *arguments)
    assert done.returncode == 0, done.stderr
    return "\n".join([done.stdout.strip(), *done.stderr.splitlines()]).strip()


def test_a_training_step() -> None:
    program = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for x, y in DataLoader(TensorDataset(torch.randn(8, 4), torch.arange(8) % 3), batch_size=4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
print(model(torch.ones(1, 4)).argmax().item() in range(3), torch.get_default_dtype())
"""
    assert run(program) == "True torch.float32"


@pytest.mark.parametrize(
    ("statement", "printed"),
    [
        ("from torch.nn.modules.batchnorm import _BatchNorm as X", "_BatchNorm"),
        ("from torch.nn.modules.instancenorm import InstanceNorm2d as X", "InstanceNorm2d"),
        ("from torch.optim.optimizer import Optimizer as X", "Optimizer"),
        ("from torch.optim.lr_scheduler import LRScheduler as X", "LRScheduler"),
        ("from torch.utils.data.dataloader import DataLoader as X", "DataLoader"),
        ("from torch.nn.modules.module import _IncompatibleKeys as X", "_IncompatibleKeys"),
        ("from torch.distributions.normal import Normal as X", "Normal"),
        ("from torch.nn.modules.conv import Tensor as X", "Tensor"),
        ("from torch.functional import einsum as X", "einsum"),
    ],
)
def test_names_lie_where_torch_has_them(statement: str, printed: str) -> None:
    assert run(f"{statement}\nprint(X.__name__)") == printed


def test_classes_say_that_they_are_of_torch() -> None:
    program = """
import pickle, torch
print(torch.Tensor.__module__, torch.nn.Linear.__module__, torch.nn.Parameter.__module__)
print(torch.float32, torch.Size([2]), torch.strided, torch.channels_last)
print(repr(torch.ones(2).max(0)).split("(")[0])
print(torch.ones(1).type(), torch.ones(1).storage().type())
print(pickle.loads(pickle.dumps(torch.nn.Linear(2, 1))))
nnkit.compat.uninstall()
print(nnkit.Tensor.__module__, nnkit.float32)
"""
    assert run(program).splitlines() == [
        "torch torch.nn.modules.linear torch.nn.parameter",
        "torch.float32 torch.Size([2]) torch.strided torch.channels_last",
        "torch.return_types.max",
        "torch.FloatTensor torch.FloatStorage",
        "Linear(in_features=2, out_features=1, bias=True)",
        "nnkit.autograd.tensor nnkit.float32",
    ]


def test_the_version() -> None:
    program = """
import importlib.metadata, torch
print(importlib.metadata.version("torch"), torch.__version__)
print(torch.__version__ >= (2, 1), torch.__version__ < "2.9", torch.__version__ == "2.13.0")
"""
    expected = ["2.13.0+nnkit 2.13.0+nnkit", "True False True"]
    assert run(program).splitlines() == expected


def test_what_is_missing_is_named() -> None:
    program = """
import torch
for statement in ("torch.nn.Lineal", "import torch.nn.lineal", "from torch.nn import Lineal"):
    try: exec(statement)
    except (AttributeError, ImportError) as error: print(type(error).__name__, "|", error)
"""
    lines = run(program).splitlines()
    assert lines[0].startswith("AttributeError | module 'torch.nn' has no attribute 'Lineal'")
    assert "docs/compat.md" in lines[0]
    assert lines[1] == "ModuleNotFoundError | No module named 'torch.nn.lineal'"
    assert lines[2].startswith("ImportError | cannot import name 'Lineal' from 'torch.nn'")


def test_lazy_names_raise_when_they_are_used() -> None:
    program = """
import torch
Missing = torch.nn.Lineal
class Derived(Missing): ...
try: Missing(2)
except NotImplementedError as error: print(error)
"""
    start = START.replace("install()", "install(lazy=True)")
    assert run(program, start=start) == "torch.nn.Lineal: nnkit has nothing of that name"


def test_verbose_tells_each_name() -> None:
    start = START.replace("install()", "install(verbose=True)")
    assert "torch.nn.init.ones_" in run("import torch; torch.nn.init.ones_", start=start)


def test_a_replaced_function_is_replaced_in_nnkit() -> None:
    program = """
import torch
torch.nn.functional.relu = lambda x, inplace=False: x + 1
print(torch.nn.ReLU()(torch.zeros(1)).item(), nnkit.nn.functional.relu is torch.nn.functional.relu)
torch.backends.cudnn.benchmark = True
print(nnkit.backends.cudnn.benchmark)
"""
    assert run(program).splitlines() == ["1.0 True", "True"]


def test_scope_answers_some_packages_alone(tmp_path: Path) -> None:
    for name in ("inside", "outside"):
        (tmp_path / f"{name}.py").write_text("import torch.nn as nn\nfrom torch import ones\n")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import nnkit.compat; nnkit.compat.install(scope={{"inside"}})
import inside
print(inside.nn.Linear is nnkit.nn.Linear, inside.ones is nnkit.ones, "torch" in sys.modules)
try:
    import outside
    print(outside.ones is nnkit.ones)
except ModuleNotFoundError: print(False)
"""
    assert run(program, start="").splitlines() == ["True True False", "False"]


def test_functions_are_of_torch_s_modules() -> None:
    program = """
import pickle, torch
import torch.nn.functional as F
for f in (F.relu, F.cross_entropy, torch.relu, torch.save, torch.nn.init.constant_):
    print(f.__module__, pickle.loads(pickle.dumps(f)) is f)
"""
    assert run(program).splitlines() == [
        "torch.nn.functional True", "torch.nn.functional True", "torch True",
        "torch.serialization True", "torch.nn.init True",
    ]  # fmt: skip


def test_mock_takes_back_what_it_replaces() -> None:
    """It deletes the attribute of a module that had none in its dictionary."""
    program = """
import torch
from unittest import mock
for name in ("cuda.is_available", "load", "nn.functional.relu", "distributed.is_initialized"):
    place, _, function = f"torch.{name}".rpartition(".")
    with mock.patch(f"torch.{name}") as outer:
        with mock.patch(f"torch.{name}") as inner:
            getattr(eval(place), function)()
        getattr(eval(place), function)()
    print(outer.call_count, inner.call_count, type(getattr(eval(place), function)) is mock.Mock)
print(torch.cuda.is_available(), torch.nn.ReLU()(-torch.ones(1)))
with mock.patch("torch.relu", torch.neg):
    print(torch.relu(torch.ones(1)))
print(torch.relu(-torch.ones(1)), isinstance(torch.load, mock.MagicMock))
held = torch.distributed
with mock.patch("torch.distributed"):
    pass
print(torch.distributed is held, torch.distributed.is_torchelastic_launched())
with mock.patch("torch._dynamo.config.suppress_errors", torch._dynamo.config.suppress_errors):
    pass
print(torch._dynamo.config.suppress_errors)
try:
    del torch.relu_of_no_module
except AttributeError as error:
    print(type(error).__name__)
"""
    assert run(program).splitlines() == [
        *["1 1 False"] * 4,
        "False tensor([0.])",
        "tensor([-1.])",
        "tensor([0.]) False",
        "True False",
        "False",
        "AttributeError",
    ]


def test_a_loaded_torch_is_not_replaced() -> None:
    program = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import nnkit.compat
try: nnkit.compat.install()
except RuntimeError as error: print(error)
"""
    assert run(program, start="") == "install(): torch itself has already been imported"


def test_what_passes_through() -> None:
    program = """
import torch
@torch.jit.script
def f(x): return x + 1
@torch.compile(fullgraph=True)
def g(x): return f(x)
@torch._dynamo.disable
def h(x): return x
print(g(torch.ones(1)).item(), torch.jit.is_scripting(), torch.compiler.is_compiling())
print(torch.distributed.is_available(), torch.ops.aten.add.Tensor(torch.ones(1), 1).item())
try: torch.ops.load_library("x.so")
except OSError as error: print(error)
"""
    lines = run(program).splitlines()
    assert lines[:2] == ["2.0 False False", "True 2.0"]
    assert lines[2].startswith("torch.ops.load_library: x.so is compiled for torch")
    assert [line.partition(" does nothing")[0] for line in lines[3:]] == ["torch.jit.script"]


@pytest.mark.parametrize("as_module", [False, True])
def test_runs_a_program(tmp_path: Path, as_module: bool) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, torch\nif __name__ == '__main__':\n    print(torch.ones(1), sys.argv[1:])\n"
    )
    what = ["-m", "program"] if as_module else [str(tmp_path / "program.py")]
    command = [sys.executable, "-m", "nnkit.compat", *what, "-x", "1"]
    root = str(Path(__file__).parents[2])
    paths = {"PYTHONPATH": f"{root}:{tmp_path}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=paths)
    assert done.stdout == "tensor([1.]) ['-x', '1']\n", done.stderr


def test_runs_the_ranks_of_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, torch\nprint(torch.__version__, os.environ['WORLD_SIZE'], sys.argv[1:])\n"
    )
    launcher = ["-m", "nnkit.compat", "-m", "torch.distributed.run", "--nproc-per-node", "1"]
    done = subprocess.run(
        [sys.executable, *launcher, program, "-x"], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.stdout == "2.13.0+nnkit 1 ['-x']\n", done.stderr


def test_importing_nnkit_does_not_load_it() -> None:
    assert run("import nnkit, sys; print('nnkit.compat' in sys.modules)", start="") == "False"


def test_a_function_hides_the_module_of_its_name() -> None:
    program = """
import torch
from torch.autograd.gradcheck import GradcheckError
x = torch.ones(2, dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(torch.sin, (x,)), GradcheckError.__mro__[1].__name__)
"""
    assert run(program) == "True RuntimeError"


def test_private_state_is_written_where_it_is_read() -> None:
    program = """
import torch
from collections import OrderedDict
log = []
handle = torch.nn.modules.module.register_module_forward_hook(lambda *given: log.append(1))
torch.nn.Identity()(torch.ones(1))
torch.nn.modules.module._global_forward_hooks = OrderedDict()
torch.nn.Identity()(torch.ones(1))
print(log)
"""
    assert run(program) == "[1]"


def test_classes_of_one_name_are_pickled_apart() -> None:
    program = """
import pickle
import torch
from torch.nn.utils import prune
for kind in (torch.nn.Identity, prune.Identity, torch.utils.data.Sampler, torch.optim.AdamW):
    print(kind.__module__, pickle.loads(pickle.dumps(kind)) is kind)
print(pickle.loads(pickle.dumps(torch.nn.Sequential(torch.nn.Identity()))))
"""
    assert run(program).splitlines() == [
        "torch.nn.modules.linear True", "torch.nn.utils.prune True",
        "torch.utils.data.sampler True", "torch.optim.adamw True",
        "Sequential(", "  (0): Identity()", ")",
    ]  # fmt: skip


def test_modules_call_what_replaces_their_functions() -> None:
    program = """
import torch
from torch.nn import functional as F
def replace(name):
    before = getattr(F, name)
    def told(*args, **kwargs):
        print(name, end=" ")
        return before(*args, **kwargs)
    setattr(F, name, told)
for name in ("linear", "conv2d", "conv_transpose1d", "max_pool2d", "avg_pool3d", "lp_pool1d",
             "adaptive_avg_pool2d", "channel_shuffle"):
    replace(name)
nn, x = torch.nn, torch.ones(1, 2, 4, 4)
for layer in (nn.Linear(4, 1), nn.Conv2d(2, 2, 1), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1),
              nn.ChannelShuffle(2)):
    layer(x)
nn.ConvTranspose1d(4, 1, 1)(x[0]), nn.LPPool1d(2, 2)(x[0]), nn.AvgPool3d(2)(x)
"""
    assert run(program).split() == [
        "linear", "conv2d", "max_pool2d", "adaptive_avg_pool2d", "channel_shuffle",
        "conv_transpose1d", "lp_pool1d", "avg_pool3d",
    ]  # fmt: skip


def test_classes_lie_in_modules_that_are_imported() -> None:
    """Picklers such as that of joblib look there, and take along what they do not find."""
    program = """
import pickle, sys, torch
for kind in (torch.nn.Conv2d, torch.optim.Adam, torch.utils.data.DataLoader, torch.no_grad,
             torch.distributions.Normal, torch.optim.lr_scheduler.StepLR, torch.amp.GradScaler):
    print(vars(sys.modules[kind.__module__]).get(kind.__name__) is kind, end=" ")
print(pickle.loads(pickle.dumps(torch.nn.functional)) is torch.nn.functional)
"""
    assert run(program) == " ".join(["True"] * 8)


def test_all_names_of_torch() -> None:
    program = """
from torch import *
print(pi, tensor([1.0, -2.0]).relu(), float32, Tensor.__name__, len(add.__name__), rand(2).shape)
import torch
print({"relu", "no_grad", "Generator", "int8"} <= set(torch.__all__), "Any" in torch.__all__)
"""
    assert run(program).splitlines() == [
        "3.141592653589793 tensor([1., 0.]) torch.float32 Tensor 3 torch.Size([2])",
        "True False",
    ]


def test_all_names_of_nn() -> None:
    program = """
from torch.nn import *
from torch.nn.functional import *
print(Linear(1, 2), Parameter.__name__, relu.__name__, linear.__name__, "warn" in dir())
"""
    expected = "Linear(in_features=1, out_features=2, bias=True) Parameter relu linear False"
    assert run(program) == expected


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_started_anew(tmp_path: Path, method: str) -> None:
    (tmp_path / "asked.py").write_text(
        "import torch\n"
        "def of_a_child(method, left):\n"
        "    from multiprocessing import get_context\n"
        "    print(repr(torch), flush=True)\n"
        "    if left:\n"
        "        child = get_context(method).Process(target=of_a_child, args=(method, left - 1))\n"
        "        child.start(); child.join()\n"
    )
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import asked
asked.of_a_child({method!r}, 2)
"""
    first, *others = run(program).splitlines()
    assert "nnkit" in first and others == [first] * 2
