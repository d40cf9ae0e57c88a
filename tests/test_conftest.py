"""The guard that watches every test must be able to fail."""

import builtins
import sys

import jax
import pytest

from jaxscope.capture.compiles.listener import Listener
from tests.conftest import installed, left_behind


def test_a_listener_that_is_not_taken_back_is_noticed():
    before = installed()
    with Listener():
        changed = left_behind(before, installed())
    assert [name.split()[0] for name in changed] == ["_event", "_event_duration_secs", "_scalar"]
    assert left_behind(before, installed()) == []


def test_another_print_is_noticed(monkeypatch: pytest.MonkeyPatch):
    before = installed()
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "print", lambda *_: None)
        assert left_behind(before, installed()) == ["builtins.print"]


def test_a_changed_setting_of_jax_is_noticed():
    before = installed()
    with jax.enable_x64(True):
        assert left_behind(before, installed()) == ["jax.config.jax_enable_x64"]


def test_a_trace_function_is_noticed(monkeypatch: pytest.MonkeyPatch):
    before = installed()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "displayhook", lambda value: None)
        assert left_behind(before, installed()) == ["sys.displayhook"]


def test_the_tests_run_on_the_cpu_without_a_cache_on_disk():
    assert jax.default_backend() == "cpu"
    assert jax.config.jax_compilation_cache_dir is None
