"""Files are written whole or not at all, and read up to a size."""

from __future__ import annotations

import gzip
import io
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from jaxscope import files


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_the_older_file_and_nothing_else(
    fault: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    files.write(path, "the older page")

    class Cut(io.FileIO):
        def write(self, data: Any) -> int:
            super().write(data[:2])
            raise fault

    def opened(self: Path, mode: str) -> io.FileIO:
        return Cut(self, mode.replace("b", ""))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", opened)
        with pytest.raises(type(fault)):
            files.write(path, "the newer page")
    assert path.read_text() == "the older page"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_link_and_the_permissions_stay(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    real, link = tmp_path / "deep" / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    assert files.write(link, "new") == link
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "any").write_text("")
    files.write(tmp_path / "new", b"1")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_what_is_not_a_regular_file_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write(pipe, "page")
        assert os.read(reader, 10) == b"page"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        files.write(tmp_path / "nowhere" / "report.json", "1")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_read_only_folder_is_an_error_with_the_name_of_the_file_that_was_asked_for() -> None:
    # Nobody may write there, not even root.
    with pytest.raises(OSError, match="No such file") as raised:
        files.write("/proc/report.html", "text")
    assert raised.value.filename == "/proc/report.html"


def test_gzip_is_unpacked_with_all_its_members(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0")
    assert files.read(path) == gzip.decompress(path.read_bytes()) == b"one two"


@pytest.mark.parametrize("number", [1, 3])
def test_what_unpacks_to_more_than_the_limit_is_refused(number: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * (3 << 20)) * number)
    assert len(files.read(path, number * 3 << 20)) == number * 3 << 20
    with pytest.raises(files.TooLarge, match="more than 2 MiB"):
        files.read(path, 2 << 20)


def test_a_plain_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b"0" * 1025)
    assert len(files.read(path, 1025)) == 1025
    with pytest.raises(files.TooLarge):
        files.read(path, 1024)


def test_truncated_and_damaged_data_raise_what_a_reader_expects(tmp_path: Path) -> None:
    path, packed = tmp_path / "a.gz", gzip.compress(b"text" * 100)
    path.write_bytes(packed[:-4])
    with pytest.raises(EOFError, match="truncated"):
        files.read(path)
    path.write_bytes(packed[:12] + b"\xff\xff" + packed[14:])
    with pytest.raises(ValueError, match="decompressing"):
        files.read(path)
