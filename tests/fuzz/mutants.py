"""Files of every format that is read, and what can be done to their bytes."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

import nnkit
from nnkit import export

NUMBERS = (0, 1, 7, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1)
NUMBERS += (2**64 - 1,)
# Opcodes of the kinds that a pickle should not be able to use, and sizes that it should not state.
OPCODES = (
    *(b"(", b"0", b"1", b"2", b"t", b"l", b"d", b"]", b"}", b")", b"\x8f", b"N", b"\x88", b"."),
    *(b"R", b"b", b"\x81", b"\x92", b"o", b"s", b"u", b"a", b"e", b"\x90", b"\x91", b"\x94", b"Q"),
    *(b"ios\nsystem\n", b"cos\nsystem\n", b"cbuiltins\ngetattr\n", b"ctorch\nTensor\n", b"Px\n"),
    *(b"ctorch\nfloat32\n", b"ctorch\ndevice\n", b"ctorch._utils\n_rebuild_tensor_v2\n"),
    *(b"c__builtin__\nbytearray\n", b"c__builtin__\nset\n", b"c_codecs\nencode\n", b"\x82\1"),
    *(b"ccollections\nOrderedDict\n", b"ccollections\nCounter\n", b"ctorch\nSize\n", b"\x93"),
    *(b"N}(V_base\nI1\nu\x86b", b"}(V_data\nNub", b"h\0", b"q\0", b"h\1", b"q\1", b"\x85", b"\x86"),
    *(b"r\xff\xff\xff\x7f", b"B\xff\xff\xff\x7f", b"X\xff\xff\xff\xff", b"J\xff\xff\xff\xff"),
    *(b"\x8e" + struct.pack("<Q", 2**40), b"\x8a\xff", b"\x8b\xff\xff\xff\x7f", b"\x97"),
    b"I" + b"9" * 30 + b"\n",
)  # fmt: skip


def originals() -> dict[str, list[bytes]]:
    """Valid files by format; those of torch only where it is installed."""
    x = nnkit.arange(6.0).reshape(2, 3)
    state = {
        "w": x, "half": x.half(), "brain": x.bfloat16(), "mask": x > 2, "c": x + 1j, "n": [1, 2.5],
        "parameter": nnkit.nn.Parameter(x), "text": ("a", b"b", None, True, {3}, nnkit.Size([2])),
        "places": [nnkit.device("cpu"), nnkit.float32], 3: nnkit.nn.Linear(2, 1).state_dict(),
    }  # fmt: skip
    found: dict[str, list[bytes]] = {"safetensors": [], "npz": [], "torch": [], "legacy": []}
    for value in (state, {"x": x}, x, []):
        stream = io.BytesIO()
        nnkit.save(value, stream)
        found["safetensors"].append(stream.getvalue())
        for kind, is_zip in (("torch", True), ("legacy", False)):
            stream = io.BytesIO()
            nnkit.save(value, stream, _use_new_zipfile_serialization=is_zip, format="torch")
            found[kind].append(stream.getvalue())
    arrays = {"w": np.ones((2, 3), np.float32), "n": np.arange(4), "f": np.ones((2, 2), order="F")}
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, **arrays)
        found["npz"].append(stream.getvalue())
    value = {"a": [1, 2.5, None, True, (2**70, "b")], "c": {3}, "d": b"e", "f": bytearray(b"g")}
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        pickled = pickle.dumps(value, protocol)
        found["torch"].append(rebuilt({"x/data.pkl": pickled, "x/byteorder": b"little"}))
    found["torch"] += _of_torch()
    found["program"] = _programs()
    return found


def _programs() -> list[bytes]:
    """Exported programs."""

    class Net(nnkit.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nnkit.nn.Linear(3, 2)
            self.norm = nnkit.nn.BatchNorm1d(2)
            self.shift = nnkit.ones(2)

        def forward(self, x: Any, pair: Any) -> Any:
            y = self.norm(self.linear(x)) + self.shift
            y[: y.shape[0] // 2, None, ...] = pair["scale"]
            return {"y": y.to(nnkit.float64), "pair": (*y.max(1), pair["count"])}

    batch = export.Dim("batch", max=64)
    arguments = nnkit.ones(4, 3), {"scale": nnkit.ones(1), "count": 2}
    found = []
    for shapes in (None, {"x": {0: batch}, "pair": {"scale": None, "count": None}}):
        stream = io.BytesIO()
        export.save(export.export(Net(), arguments, dynamic_shapes=shapes), stream)
        found.append(stream.getvalue())
    return found


def _of_torch() -> list[bytes]:
    try:
        import torch
    except ImportError:
        return []
    x = torch.arange(6.0).reshape(2, 3)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    values = (
        x,
        [x, x.t(), x[1:, 1], torch.nn.Parameter(x), torch.nn.Buffer(x)],
        {"h": x.half(), "b": x.bfloat16(), "c": (x + 1j).conj(), "d": x.bool(), "i": x.long()},
        {"model": model.state_dict(), "epoch": 3, "best": 0.5},
        optimizer.state_dict(),
        [torch.float16, torch.device("cpu"), torch.Size([2]), b"ab", bytearray(b"c"), {1, 2}],
    )
    found = []
    for value in values:
        stream = io.BytesIO()
        torch.save(value, stream)
        found.append(stream.getvalue())
    return found


def members(file: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rebuilt(contents: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return stream.getvalue()


class Mutator:
    """The mutants of a seed, each told by a number."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.files = originals()
        self.contents = {
            id(f): members(f) for kind in ("npz", "torch", "program") for f in self.files[kind]
        }
        self.programs = {
            id(file): split(self.contents[id(file)][_pickle_of(self.contents[id(file)])])
            for file in self.files["torch"]
        }
        for file in self.files["legacy"]:
            self.programs[id(file)] = split_all(file)
        self.opcodes = sum(self.programs.values(), list(OPCODES))

    def __call__(self, number: int) -> bytes:
        rng = random.Random(self.seed << 40 | number)
        kind = rng.choice(("torch", "torch", "npz", "safetensors", "legacy", "program"))
        original = rng.choice(self.files[kind])
        ways: tuple[Callable[[random.Random, bytes], bytes], ...] = {
            "torch": (self._bytes, self._pickle, self._pickle, self._member),
            "npz": (self._bytes, self._member),
            "legacy": (self._bytes, self._pickles, self._pickles),
            "safetensors": (self._bytes, self._header, self._header),
            "program": (self._bytes, self._member, self._operations, self._operations),
        }[kind]
        return rng.choice(ways)(rng, original)

    def _bytes(self, rng: random.Random, file: bytes) -> bytes:
        return changed(rng, file)

    def _member(self, rng: random.Random, file: bytes) -> bytes:
        """One member changed; the archive itself is whole."""
        contents = dict(self.contents[id(file)])
        name = rng.choice(list(contents))
        contents[name] = changed(rng, contents[name][: rng.choice((128, 10**9))])
        if rng.random() < 0.1:
            contents[rng.choice(("x/data.pkl", "data/0", "byteorder", "nnkit.npy"))] = bytes(9)
        deflated = rng.random() < 0.1
        return rebuilt(contents, zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)

    def _pickle(self, rng: random.Random, file: bytes) -> bytes:
        """Whole opcodes changed."""
        contents = dict(self.contents[id(file)])
        contents[_pickle_of(contents)] = b"".join(self._opcodes(rng, file))
        return rebuilt(contents)

    def _pickles(self, rng: random.Random, file: bytes) -> bytes:
        """The same in a file that is nothing but pickles and memory."""
        memory = file[sum(map(len, self.programs[id(file)])) :]
        return b"".join(self._opcodes(rng, file)) + memory

    def _opcodes(self, rng: random.Random, file: bytes) -> list[bytes]:
        opcodes = list(self.programs[id(file)])
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            at, other = rng.randrange(len(opcodes) + 1), rng.randrange(len(opcodes) + 1)
            action = rng.randrange(5)
            if action == 0:
                del opcodes[at : at + rng.choice((1, 1, 4))]
            elif action == 1:
                opcodes[at:at] = opcodes[min(at, other) : max(at, other)][:40]
            elif action == 2:
                opcodes.insert(at, rng.choice(OPCODES))
            elif action == 3:
                opcodes.insert(at, rng.choice(self.opcodes))
            elif at < len(opcodes):
                opcodes[at] = changed(rng, opcodes[at])
        return opcodes

    def _operations(self, rng: random.Random, file: bytes) -> bytes:
        """The JSON of a program changed."""
        contents = dict(self.contents[id(file)])
        tree = json.loads(contents["program.json"])
        for _ in range(rng.choice((1, 1, 2))):
            tree = another_tree(rng, tree)
        contents["program.json"] = json.dumps(tree).encode()
        return rebuilt(contents)

    def _header(self, rng: random.Random, file: bytes) -> bytes:
        """The JSON of a safetensors file changed: a part of it, or its text."""
        length = int.from_bytes(file[:8], "little")
        text, memory = file[8 : 8 + length], file[8 + length :]
        if rng.random() < 0.5:
            header = json.loads(text)
            notes = header.get("__metadata__", {})
            if rng.random() < 0.5 and "nnkit" in notes:
                note = json.loads(notes["nnkit"])
                notes["nnkit"] = json.dumps(another_tree(rng, note))
            else:
                header = another_tree(rng, header)
            text = json.dumps(header).encode()
        else:
            text = changed(rng, text)
        return struct.pack("<Q", len(text)) + text + memory


def _pickle_of(contents: dict[str, bytes]) -> str:
    return next(name for name in contents if name.endswith("data.pkl"))


def split(pickled: bytes) -> list[bytes]:
    """The opcodes of a pickle, each with its argument."""
    starts = [position for _, _, position in pickletools.genops(pickled)]
    return [pickled[a:b] for a, b in zip(starts, [*starts[1:], len(pickled)])]


def split_all(file: bytes) -> list[bytes]:
    """The opcodes of the five pickles that an older file of torch begins with."""
    found, stream = [], io.BytesIO(file)
    for _ in range(5):
        begin = stream.tell()
        for _ in pickletools.genops(stream):
            pass
        found += split(file[begin : stream.tell()])
    return found


def changed(rng: random.Random, content: bytes) -> bytes:
    """Some of the bytes overwritten, cut out, repeated or invented."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(6)
        if action == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif action == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif action == 2:
            width = rng.choice((1, 2, 4, 8))
            number = rng.choice(NUMBERS) + rng.choice((0, 0, -1, 1))
            data[at : at + width] = (number % 256**width).to_bytes(width, "little")
        elif action == 3:
            del data[at : at + rng.choice((1, 2, 8, 100, 10**9))]
        elif action == 4:
            data[at:at] = data[at : at + rng.choice((1, 8, 100))] * rng.choice((1, 2, 20))
        else:
            data[at:at] = rng.randbytes(rng.choice((1, 4, 30)))
    return bytes(data)


def another_tree(rng: random.Random, tree: object) -> object:
    """A tree of JSON with one node replaced."""
    if not isinstance(tree, list | dict) or not tree or rng.random() < 0.2:
        numbers = (*NUMBERS, -1, 1.5, 1e400)
        others = (None, True, "", "w", "tensor", "F32", "F64", "cpu", [], {}, [0, 8], [[]] * 3)
        return rng.choice((rng.choice(numbers), rng.choice(others)))
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    key = rng.choice(list(keys))
    copy: dict | list = tree.copy()
    if rng.random() < 0.1:
        del copy[key]
    else:
        copy[key] = another_tree(rng, tree[key])
    return copy
