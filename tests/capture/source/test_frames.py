"""Which frames are the user's, and where in the text they stand."""

from __future__ import annotations

import inspect
import json
import os
import site
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.source import frames
from jaxscope.capture.source.frames import RawFrame, is_user_file, user_frames
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Source, SourceKind, Span


@pytest.mark.parametrize(
    "file",
    [
        json.__file__,
        os.path.join(os.path.dirname(str(jax.__file__)), "_src", "pjit.py"),
        str(np.__file__),
        os.path.join(site.getsitepackages()[0], "flax", "nnx.py"),
        os.path.join(os.path.dirname(str(jaxscope.__file__)), "capture", "events.py"),
        "<frozen importlib._bootstrap>",
    ],
)
def test_libraries_and_jaxscope_are_not_the_users(file):
    assert not is_user_file(file)


@pytest.mark.parametrize(
    "file", [__file__, "<ipython-input-3-abc>", "/tmp/ipykernel_1/2.py", "<stdin>", "train.py"]
)
def test_cells_and_files_of_ones_own_are_the_users(file):
    assert is_user_file(file)


def test_frames_come_innermost_first_and_as_many_as_asked():
    def inner(limit):
        return user_frames(inspect.currentframe(), limit)

    def outer(limit):
        return inner(limit)

    assert [f.function for f in outer(2)] == ["inner", "outer"]
    assert [f.function for f in outer(1)] == ["inner"]
    assert all(f.file == __file__ for f in outer(2))


def test_what_lies_outside_ipython_is_not_the_users():
    space = {"user_frames": user_frames, "inspect": inspect}
    code = "def cell(): return user_frames(inspect.currentframe())\n"
    exec(compile(code, "<ipython-input-1>", "exec"), space)
    shell = os.path.join(os.sep, "lib", "site-packages", "IPython", "core", "interactiveshell.py")
    exec(compile("def run(cell): return cell()", shell, "exec"), space)
    assert [f.function for f in space["run"](space["cell"])] == ["cell"]
    assert len(space["cell"]()) > 1  # without IPython around, this test is the user


def test_columns_are_characters_of_the_source():
    text = 'x = "äöü"; f(x)\n'
    start = text.encode().index(b"f(x)")
    raw = RawFrame("cell", "<module>", 1, 1, start, start + 4)
    other = Source("other", "other", SourceKind.MODULE, "")
    frame = raw.locate((other, Source("cell", "cell", SourceKind.CELL, text)))
    assert frame.source == 1
    assert frame.span == Span(1, 11, 1, 15)
    assert text[11:15] == "f(x)"


def test_without_the_text_the_columns_stay_as_they_are():
    raw = RawFrame("/nowhere/at/all.py", "f", 7, 8, 3, None)
    assert raw.locate().span == Span(7, 3, 8, 0)
    assert raw.locate().source is None


@pytest.fixture
def fresh():
    """No file was judged by an earlier `sys.path`."""
    yield
    for cached in (frames.is_user_file, frames.is_installed):
        cached.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_libraries_installed_into_any_folder_of_the_path_are_not_the_users(monkeypatch, tmp_path):
    """`pip install --target` leaves a `*.dist-info` beside them; a later folder counts too."""
    file = tmp_path / "target" / "flax" / "compilation.py"
    assert frames.is_user_file(str(tmp_path / "train.py"))
    (tmp_path / "target" / "flax-0.12.dist-info").mkdir(parents=True)
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path / "target"), str(tmp_path)])
    assert not frames.is_user_file(str(file))
    assert SourceFiles().index(str(file)) is None
    assert frames.is_user_file(str(tmp_path / "model.py"))


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("folder", "own"), [("./libs", False), ("", True)])
def test_a_relative_folder_of_the_path(folder, own, monkeypatch, tmp_path):
    """The current folder is the user's, whatever was installed there."""
    (tmp_path / folder / "flax-0.12.dist-info").mkdir(parents=True)
    (tmp_path / folder / "library.py").write_text("def f(): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [folder, *sys.path])
    space = {}
    exec("import library", space)
    monkeypatch.delitem(sys.modules, "library")
    assert frames.is_user_file(space["library"].f.__code__.co_filename) is own


COLLECTED = """
import gc, threading
from jaxscope.capture.source.frames import frame_of

class Holder:
    pass

def leave_garbage():
    one = Holder()
    one.itself, one.local = one, threading.local()
    one.local.value = 1

def look():
    return frame_of(threading.get_ident())

gc.set_threshold(1)
for _ in range(500):
    gc.disable()
    leave_garbage()
    leave_garbage()
    gc.enable()
    assert look().f_code.co_name == "frame_of"
assert gc.isenabled() and frame_of(0) is None
"""


def test_the_frame_of_a_thread_is_read_while_garbage_waits_for_the_collector() -> None:
    subprocess.run([sys.executable, "-c", COLLECTED], check=True, timeout=100)
