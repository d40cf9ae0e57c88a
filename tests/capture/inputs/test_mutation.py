"""Containers that a trace changed, put back as they were."""

from __future__ import annotations

import collections
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from jaxscope.capture.inputs.mutation import Snapshot, contents, is_users_module


class Strict:
    """An object that refuses changes, once it is made."""

    made = 1

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(name)


def test_attributes_are_put_back_without_the_objects_own_rules() -> None:
    strict, module = Strict(), types.ModuleType("made")
    vars(strict)["kept"] = module.kept = 1

    class Plain:
        kept = 1

    def function() -> None: ...

    function.kept = 1
    owners = (strict, module, Plain, function)
    snapshot = Snapshot()
    for number, owner in enumerate(owners):
        snapshot.take(f"owner{number}", owner)
    for owner in owners[1:]:
        owner.kept, owner.new = 2, 3
    vars(strict).update(kept=2, new=3)
    snapshot.restore()
    assert [owner.kept for owner in owners] == [1] * 4
    assert not any(hasattr(owner, "new") for owner in owners)


def test_an_object_that_invents_its_attributes_has_none() -> None:
    class Foreign:
        __slots__ = ("held",)

        def __getattr__(self, name: str) -> object:
            return lambda: name

    library = Foreign()
    library.held = [1]
    snapshot = Snapshot()
    snapshot.keep(library)
    assert contents(library) == {"held": [1]}


def test_containers_are_put_back_in_place() -> None:
    held = {"a": [1, 2], "b": {1}, "c": collections.deque([1]), "d": {"k": 1}, "e": bytearray(b"x")}
    snapshot = Snapshot()
    snapshot.take("held", held)
    for name, change in (("a", [3]), ("b", {3}), ("c", [3]), ("d", {"z": 3}), ("e", b"y")):
        getattr(held[name], "extend", getattr(held[name], "update", None))(change)
    before = {name: id(value) for name, value in held.items()}
    snapshot.restore()
    assert held == {
        "a": [1, 2], "b": {1}, "c": collections.deque([1]), "d": {"k": 1}, "e": bytearray(b"x"),
    }  # fmt: skip
    assert {name: id(value) for name, value in held.items()} == before


def test_views_are_unlocked_like_what_they_show() -> None:
    whole, read_only = np.arange(4.0), np.arange(4.0)
    part, of_read_only = whole[:2], read_only[:2]
    read_only.flags.writeable = False
    snapshot = Snapshot()
    snapshot.take("arrays", [part, whole, of_read_only, read_only])
    for _ in range(2):
        with snapshot.arrays_locked():
            assert not whole.flags.writeable
            assert not part.flags.writeable
            assert not of_read_only.flags.writeable
        assert whole.flags.writeable
        assert part.flags.writeable
        assert of_read_only.flags.writeable
        assert not read_only.flags.writeable


@pytest.mark.parametrize(
    ("folder", "users"), [("site-packages", False), ("dist-packages", False), ("project", True)]
)
def test_a_module_of_any_folder_of_packages_is_a_librarys(
    folder: str, users: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("some_module")
    module.__file__ = str(tmp_path / folder / "some_module.py")
    monkeypatch.setitem(sys.modules, "some_module", module)
    assert is_users_module("some_module") is users
