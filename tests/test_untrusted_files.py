"""Files that want to do harm: nothing is run, changed, or allocated by a number in the file."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit


class Attack:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def checkpoint(
    pickled: bytes, method: int = zipfile.ZIP_STORED, **contents: bytes | int
) -> io.BytesIO:
    """A zip archive as torch writes it, with this pickle in it; an int is a number of zeros."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("x/data.pkl", pickled)
        for name, content in contents.items():
            archive.writestr("x/" + name.replace("_", "/"), bytes(content))
    stream.seek(0)
    return stream


def tensor_opcodes(
    *, offset: int = 0, size: int = 4, stride: int = 1, length: int = 4, kind: bytes = b"storage"
) -> bytes:
    """Opcodes of a float32 tensor on the member ``data/0``, without the last one."""
    storage = b"(V%s\nctorch\nFloatStorage\nV0\nVcpu\nI%d\ntQ" % (kind, length)
    numbers = b"I%d\nI%d\n\x85I%d\n\x85\x89N" % (offset, size, stride)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + numbers + b"tR"


def test_the_opcodes_of_a_tensor() -> None:
    file = checkpoint(tensor_opcodes() + b".", data_0=16)
    assert nnkit.load(file).tolist() == [0.0] * 4


@pytest.mark.parametrize(
    "value",
    [
        Attack(os.system, "touch attacked"),
        Attack(eval, "1"),
        Attack(getattr, 1, "real"),
        {"x": [Attack(exec, "")]},
        nnkit.nn.Identity(),
    ],
)
def test_nothing_is_called(value: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for protocol in range(1, pickle.HIGHEST_PROTOCOL + 1):
        pickled = pickle.dumps(value, protocol)
        with pytest.raises(pickle.UnpicklingError, match="only tensors, numbers, strings"):
            nnkit.load(checkpoint(pickled))
    assert os.listdir(tmp_path) == []


TENSOR = tensor_opcodes()
OF_TYPE = b"".join((
    b"ctorch._tensor\n_rebuild_from_type_v2\n(", TENSOR[:-1].replace(b"(", b"ctorch\nTensor\n(", 1),
    b"%stR.",
))  # fmt: skip
SOME_STATE = b"N}(V_base\nI1\nu\x86"  # (None, {"_base": 1}): attributes in slots


@pytest.mark.parametrize(
    ("pickled", "match"),
    [
        (TENSOR + SOME_STATE + b"b.", "a Tensor is given no attributes"),
        (TENSOR + b"}(V_array\nNub.", "a Tensor is given no attributes"),
        (OF_TYPE % b"}(V_array\nNu", "a tensor is given no attribute '_array'"),
        (OF_TYPE % SOME_STATE, "a tensor is given no attribute '_base'"),
        (OF_TYPE % b"}(I1\nNu", "a tensor is given no attribute 1"),
        (
            (OF_TYPE % b"}").replace(b"ctorch\nTensor\n", b"ctorch\nSize\n", 1),
            "is no class of tensors",
        ),
        (b"ctorch\nTensor\n}(Vbackward\nNub.", "a type is given no attributes"),
        (b"ctorch\nfloat32\n" + SOME_STATE + b"b.", "a dtype is given no attributes"),
        (b"ctorch\ndevice\nVcpu\n\x85R" + SOME_STATE + b"b.", "a device is given no attributes"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n}b.", "a Function is given no attributes"),
        (b"ccollections\nOrderedDict\n)R}(Vitems\nNub.", "no attribute 'items'"),
        (b"ccollections\nOrderedDict\n)R" + SOME_STATE + b"b.", "is given no attributes"),
        (TENSOR + b"I0\nI1\ns.", "cannot be put into a Tensor"),
        (TENSOR + b"(I0\nI1\nu.", "cannot be put into a Tensor"),
        (TENSOR + b"I0\na.", "cannot be put into a Tensor"),
        (b"ctorch\nTensor\nI9\n\x85R.", "a type cannot be called"),
        (b"ctorch\nfloat32\n)R.", "a dtype cannot be called"),
        (b"ctorch\nTensor\n)\x81.", "no instance of a"),
        (b"ctorch\nTensor\n)}\x92.", "not one of plain data"),
        (b"(ctorch\nTensor\no.", "not one of plain data"),
        (b"(ios\nsystem\n.", "not one of plain data"),
        (b"\x82\1.", "not one of plain data"),
        (b"Pid\n.", "not one of plain data"),
        (b"\x80\5\x97.", "not one of plain data"),
        (b"\x8c\2os\x8c\6system\x93.", "refers to os.system"),
        (tensor_opcodes(kind=b"module") + b".", "an unknown thing, 'module'"),
        (b"}(]Nu.", "a list like this one cannot be a key"),
        (b"}(N\x85\x85Nu.", "a tuple like this one cannot be a key"),
        (b"}((" + b"N" * 17 + b"tNu.", "a tuple like this one cannot be a key"),
        (b"}(\x8b\x11\0\0\0" + b"\x11" * 17 + b"Nu.", "an integer as long as this one"),
        (b"c__builtin__\nset\n](]e\x85R.", "a list like this one cannot be a key"),
    ],
)
def test_nothing_is_changed(pickled: bytes, match: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=match):
        nnkit.load(checkpoint(pickled, data_0=16))
    x = nnkit.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and nnkit.device("cpu").type == "cpu"


@pytest.mark.parametrize(
    ("pickled", "match"),
    [
        (b"", "damaged pickle"),
        (b"]", "damaged pickle: .*MARK|damaged pickle: pickle exhausted"),
        (b".", "damaged pickle"),
        (b"h\7.", "nothing was kept under 7"),
        (b"\x86.", "the stack is empty"),
        (b"}(I1\nu.", "damaged pickle"),
        (b"c__builtin__\nbytearray\nI9999999999\n\x85R.", "bytes are not made of a int"),
        (b"c__builtin__\nbytes\nI9999999999\n\x85R.", "bytes are not made of a int"),
        (b"c__builtin__\ncomplex\nV1\nV1\n\x86R.", "a complex number has two floats"),
        (b"ccollections\nCounter\nVab\n\x85R.", "a Counter is made of a dict"),
        (b"ccollections\nOrderedDict\nVab\n\x85R.", "an OrderedDict is made of pairs"),
        (b"U\x01\xff.", "can't decode byte"),
        (b"ctorch\nSize\nV12\n\x85R.", "cannot be interpreted as an integer"),
        (b"c_codecs\nencode\nVa\nVzip\n\x86R.", "bytes are stored as latin1 text"),
        (b"B\xff\xff\xff\x7f.", "expected 2147483647 bytes"),
        (b"\x8e" + b"\0" * 6 + b"\1\0.", "bytes8, but only 1 remain"),
        (tensor_opcodes(length=3) + b".", "storage 0 has 16 bytes, 3 elements of nnkit.float32"),
        (tensor_opcodes(length=2**40) + b".", "storage 0 has 16 bytes, 1099511627776 elements"),
        (tensor_opcodes(offset=1) + b".", "exceeds its memory of 4 elements"),
        (tensor_opcodes(size=2, stride=4) + b".", "exceeds its memory of 4 elements"),
        (tensor_opcodes(size=2**62, stride=4) + b".", "exceeds its memory of 4 elements"),
        (tensor_opcodes(size=2, offset=-1) + b".", "exceeds its memory of 4 elements"),
        (tensor_opcodes(size=2, stride=-1) + b".", "exceeds its memory of 4 elements"),
        (TENSOR.replace(b"V0", b"V7") + b".", "it has no member data/7"),
        (TENSOR.replace(b"I4\n\x85", b"(" + b"I4\n" * 65 + b"t") + b".", "65 dimensions"),
        (TENSOR.replace(b"I1\n\x85", b"I1\nI1\n\x86") + b".", "1 dimensions and 2 strides"),
        (
            b"ctorch._utils\n_rebuild_parameter\nI1\n\x89N\x87R.",
            "data must be a Tensor",
        ),
    ],
)
def test_damaged_pickles(pickled: bytes, match: str) -> None:
    with pytest.raises(ValueError, match=f"load: the stream: .*{match}"):
        nnkit.load(checkpoint(pickled, data_0=16))


def test_a_memoized_value_is_not_copied_again_and_again() -> None:
    text = b"X" + struct.pack("<I", 1000) + b"a" * 1000 + b"q\1"
    copy = b"c_codecs\nencode\nh\1Vlatin1\n\x86R"
    assert nnkit.load(checkpoint(text + copy + b".")) == b"a" * 1000
    with pytest.raises(pickle.UnpicklingError, match="it copies more than it contains"):
        nnkit.load(checkpoint(text + copy * 9 + b"."))


def test_a_large_place_in_the_memo_takes_no_memory() -> None:
    assert nnkit.load(checkpoint(b"]r\xff\xff\xff\x7f.")) == []


def test_a_tree_that_contains_itself() -> None:
    """map_location walks no tree: neither a cycle nor shared branches take time."""
    branches = b"]q\0" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(40)) + b"."
    value = nnkit.load(checkpoint(branches), map_location="cpu")
    assert value[0] is value[1]
    value = nnkit.load(checkpoint(b"]q\0h\0a."), map_location="cpu")
    assert value[0] is value
    depth = 100_000
    value = nnkit.load(checkpoint(b"]" * depth + b"a" * (depth - 1) + b"."))
    assert len(value) == 1


def test_a_conjugate_takes_no_more_than_its_memory() -> None:
    opcodes = tensor_opcodes(size=2**40, stride=0, length=2).replace(b"Float", b"ComplexFloat")
    marked = opcodes.replace(b"\x89NtR", b"\x89N}Vconj\n\x88sVneg\n\x88stR")
    first, second = nnkit.load(checkpoint(b"]" + marked + b"a" + marked + b"a.", data_0=16))
    assert first.shape == (2**40,) and first.data_ptr() == second.data_ptr()


def test_map_location_keeps_what_is_shared(torch: ModuleType) -> None:
    x = torch.zeros(3)
    stream = io.BytesIO()
    torch.save([x, x, x[1:]], stream)
    stream.seek(0)
    first, second, part = nnkit.load(stream, map_location="cpu")
    first[1] = 5.0
    assert second is first and part.tolist() == [5.0, 0.0]


# Sizes


def test_compressed_checkpoints_are_refused() -> None:
    file = checkpoint(TENSOR + b".", zipfile.ZIP_DEFLATED, data_0=16)
    with pytest.raises(ValueError, match="member data.pkl is compressed, which torch.save never"):
        nnkit.load(file)


@pytest.mark.parametrize(
    ("order", "match"),
    [
        (b"middle", "Unknown endianness type: the byte order of the file is b'middle'"),
        (bytes(17), "has 17 bytes, more than 16"),
    ],
)
def test_byte_order(order: bytes, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        nnkit.load(checkpoint(pickle.dumps(1), byteorder=order))


def npz(header: bytes | None = None, method: int = zipfile.ZIP_DEFLATED, size: int = 8) -> Any:
    """An npz file of one array, ``x``, of two float32."""
    content = io.BytesIO()
    np.save(content, np.zeros(2, np.float32))
    start, memory = content.getvalue()[:-8], bytes(size)
    if header is not None:
        start = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("x.npy", start + memory)
    stream.seek(0)
    return stream


def npy_header(descr: str = "'<f4'", shape: str = "(2,)") -> bytes:
    return b"{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (
        descr.encode(),
        shape.encode(),
    )


@pytest.mark.parametrize(
    ("file", "match"),
    [
        (npz(npy_header(shape="(3,)")), r"of shape \(3,\) and dtype float32 cannot lie in 8 bytes"),
        (npz(npy_header(shape="(2**40,)")), "malformed node"),
        (npz(npy_header(shape="(-1, -2)")), "cannot lie in 8 bytes"),
        (npz(npy_header("'|O'", "(1,)")), "Object arrays such as 'x.npy' are not read"),
        (npz(npy_header("'|S4'")), "'x' has the unknown dtype"),
        (npz(npy_header("'|S2'", "(4,)")), "'x' has the unknown dtype .S2"),
        (npz(b"-" * 9000), "Cannot parse header|is nested"),
        (npz(method=zipfile.ZIP_BZIP2), "'x.npy' is not compressed by deflate"),
    ],
)
def test_damaged_npz(file: io.BytesIO, match: str) -> None:
    with pytest.raises(ValueError, match=f"load: the stream: .*(?:{match})"):
        nnkit.load(file)


def patched(file: io.BytesIO, change: Any) -> io.BytesIO:
    """The file with the sizes in its central directory changed; a size is 4 bytes."""
    content = bytearray(file.getvalue())
    entry = content.rindex(b"PK\1\2")
    change(content, entry)
    return io.BytesIO(content)


def test_members_that_are_larger_than_the_file() -> None:
    def grow(content: bytearray, entry: int) -> None:
        content[entry + 20 : entry + 28] = struct.pack("<II", 2**31, 2**31)

    with pytest.raises(ValueError, match="members are larger than the file of"):
        nnkit.load(patched(npz(method=zipfile.ZIP_STORED), grow))

    def inflate(content: bytearray, entry: int) -> None:
        content[entry + 24 : entry + 28] = struct.pack("<I", 2**31)

    with pytest.raises(ValueError, match="'x.npy' cannot have 2147483648 bytes"):
        nnkit.load(patched(npz(), inflate))


def test_members_in_one_place() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", bytes(1000))
        for n in range(9):
            archive.filelist.append(archive.getinfo("a.npy"))
            archive.NameToInfo[f"b{n}"] = archive.getinfo("a.npy")
    file.seek(0)
    with pytest.raises(ValueError, match="members are larger than the file"):
        nnkit.load(file)


def test_max_bytes() -> None:
    plain = io.BytesIO()
    nnkit.save({"x": nnkit.zeros(1000)}, plain)
    for file in (plain, checkpoint(pickle.dumps(1), data_0=5000), npz(size=8)):
        file.seek(0)
        with pytest.raises(ValueError, match=r"take \d+ bytes, max_bytes=100 are allowed"):
            nnkit.load(file, max_bytes=100)
        file.seek(0)
        nnkit.load(file, max_bytes=10_000)


def test_the_checksum_is_compared() -> None:
    file = checkpoint(TENSOR + b".", data_0=16)
    content = bytearray(file.getvalue())
    content[content.index(bytes(16))] = 1
    with pytest.raises(ValueError, match="load: the stream: damaged pickle: Bad CRC-32"):
        nnkit.load(io.BytesIO(content))


def test_errors_name_the_file(tmp_path: Any) -> None:
    path = tmp_path / "broken.pt"
    path.write_bytes(b"PK\3\4 and nothing else")
    with pytest.raises(ValueError, match=r"load: .*broken\.pt: damaged, BadZipFile"):
        nnkit.load(path)
    path.write_bytes(checkpoint(b"cos\nsystem\n.").getvalue())
    with pytest.raises(pickle.UnpicklingError, match=r"broken\.pt: .* \(GLOBAL at byte 0\)"):
        nnkit.load(path)
    with pytest.raises(FileNotFoundError):
        nnkit.load(tmp_path / "none")


def test_a_failing_disk_is_no_damage() -> None:
    class Failing(io.BytesIO):
        def read(self, *arguments: Any) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        nnkit.load(Failing())


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), MemoryError("no memory")])
def test_what_fails_in_the_middle(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise error

    monkeypatch.setattr("nnkit.backend.files.array_of", fail)
    with pytest.raises(type(error), match=str(error.args[-1])):
        nnkit.load(checkpoint(TENSOR + b".", data_0=16))
