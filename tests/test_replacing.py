"""Files that are replaced: what the old one was stays, and nothing is left behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import nnkit
from nnkit.replacing import replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes, links and locks of POSIX")


def write(path: Path, content: bytes) -> None:
    with replacing(path) as stream:
        stream.write(content)


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chmod(path, bits)
    write(path, b"new")
    assert path.read_bytes() == b"new" and mode(path) == bits


def test_a_new_file_has_the_mode_of_any(tmp_path: Path) -> None:
    (tmp_path / "any").write_bytes(b"")
    write(tmp_path / "x", b"new")
    assert mode(tmp_path / "x") == mode(tmp_path / "any")


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="needs two users")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chown(path, 12, 34)
    os.chmod(path, 0o640)
    write(path, b"new")
    found = os.stat(path)
    assert (found.st_uid, found.st_gid, mode(path)) == (12, 34, 0o640)


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may write any file")
def test_a_protected_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chmod(path, 0o400)
    with pytest.raises(PermissionError):
        write(path, b"new")
    assert path.read_bytes() == b"old"


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for name in ("there", "missing"):
        link, target = tmp_path / name, tmp_path / "real" / name
        link.symlink_to(target)
        if name == "there":
            target.write_bytes(b"old")
        write(link, b"new")
        assert link.is_symlink() and target.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path / "real")) == ["missing", "there"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write(tmp_path, b"new")


def test_a_pipe_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"new")
    reader.join()
    assert got == [b"new"] and stat.S_ISFIFO(os.stat(pipe).st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_device_stays() -> None:
    with pytest.raises(OSError, match="No space left"):
        nnkit.save({"x": nnkit.ones(9999)}, "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, b"old")
    with pytest.raises(KeyError), replacing(path) as stream:
        stream.write(b"half of the new")
        raise KeyError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x"]


SAVING = """
import sys
from nnkit.replacing import replacing
with replacing(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_save_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "[x]"
    write(path, b"old")
    saving = subprocess.Popen(
        [sys.executable, "-c", SAVING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert saving.stdin is not None and saving.stdout is not None
    saving.stdout.readline()
    assert len(os.listdir(tmp_path)) == 2
    write(path, b"while another saves")
    assert len(os.listdir(tmp_path)) == 2, "it is still writing"
    saving.kill()
    saving.wait()
    saving.stdin.close()
    saving.stdout.close()
    assert path.read_bytes() == b"while another saves"
    (tmp_path / "[x].notes.tmp").write_bytes(b"somebody else's")
    write(path, b"new")
    assert sorted(os.listdir(tmp_path)) == ["[x]", "[x].notes.tmp"]
    assert path.read_bytes() == b"new"


def test_two_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x"

    def save_often(letter: bytes) -> None:
        for _ in range(20):
            write(path, letter * 100_000)

    threads = [threading.Thread(target=save_often, args=(letter,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    assert os.listdir(tmp_path) == ["x"]
