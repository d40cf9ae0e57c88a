"""Modules that are imported before a cell needs them."""

from __future__ import annotations

import subprocess
import sys
import threading
import types

import pytest

from jaxscope.magics.session import preload

_SHELL = """
import sys, threading
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jaxscope")
{then}
for thread in threading.enumerate():
    if thread.name.startswith("jaxscope-preload"):
        thread.join()
print(*[name in sys.modules for name in {names}])
"""


def imported(then: str, *names: str) -> list[str]:
    """Which of the modules a fresh process has after loading the extension and this code."""
    code = _SHELL.format(then=then, names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_what_needs_no_jax_is_imported_after_the_extension_and_jax_is_not() -> None:
    assert imported("", *preload.WITHOUT_JAX, "jax") == [
        *["True"] * len(preload.WITHOUT_JAX),
        "False",
    ]


def test_the_rest_is_imported_once_the_user_has_imported_jax() -> None:
    assert imported("import jax", *preload.WITH_JAX) == ["True"] * len(preload.WITH_JAX)


def test_loading_the_extension_waits_for_no_type_of_a_report() -> None:
    before = "from jaxscope.magics.session import preload; preload.preload = lambda names: None"
    code = f"import sys; {before}; import jaxscope.magics; print('jaxscope.model' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_no_thread_asks_for_a_module_before_its_package_that_imports_it() -> None:
    """A cell that imports the package meanwhile would end in a deadlock of imports."""
    code = """
import builtins, pathlib, sys
import jaxscope.magics
from jaxscope.magics.session import preload

real, found = builtins.__import__, []
folder = pathlib.Path(jaxscope.__file__).parent.parent

def imports_its_modules(package):
    text = folder.joinpath(*package.split("."), "__init__.py")
    return text.exists() and f"from {package}." in text.read_text("utf-8")

def noted(name, globals=None, locals=None, fromlist=(), level=0):
    parts = name.split(".")
    packages = [".".join(parts[:n]) for n in range(1, len(parts))] if parts[0] == "jaxscope" else []
    found.extend((p, name) for p in packages if p not in sys.modules and imports_its_modules(p))
    return real(name, globals, locals, fromlist, level)

builtins.__import__ = noted
preload._load(list(preload.WITHOUT_JAX))
import jax
preload._load(list(preload.WITH_JAX))
print(found)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_starts_where_all_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(threading, "Thread")
    preload.preload(("sys", "threading"))


def test_what_needs_no_jax_is_imported_after_what_a_cell_needs_before_it_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    release = threading.Event()
    monkeypatch.setattr(preload, "importlib", types.SimpleNamespace(import_module=order.append))
    ahead = threading.Thread(
        target=lambda: (release.wait(), order.append("ahead")), name=preload._AHEAD
    )
    others = threading.Thread(target=preload._load, args=(["others"],))
    ahead.start()
    others.start()
    others.join(0.1)
    release.set()
    for thread in (ahead, others):
        thread.join()
    assert order == ["ahead", "others"]


def test_two_threads_ahead_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension was loaded again while its first thread still imported."""
    both = threading.Barrier(2)
    monkeypatch.setattr(preload, "importlib", types.SimpleNamespace(import_module=both.wait))
    monkeypatch.setattr(both, "wait", lambda name: threading.Barrier.wait(both, timeout=60))
    ahead = [
        threading.Thread(target=preload._load, args=([str(i)],), name=preload._AHEAD, daemon=True)
        for i in range(2)
    ]
    for thread in ahead:
        thread.start()
    for thread in ahead:
        thread.join(120)
    assert not any(thread.is_alive() for thread in ahead)
    assert not both.broken


def test_a_module_that_cannot_be_imported_keeps_none_of_the_others_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    preload._load(["jaxscope.no_such_module", "tests.paths"])
    assert "tests.paths" in sys.modules
