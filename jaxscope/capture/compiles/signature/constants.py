"""All that decides the program of a cell and is not an argument of it, as captured values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import jax
import numpy as np

from jaxscope.analysis.compiles.causes.signature import CapturedValue, PartKind, StaticPart
from jaxscope.capture.compiles.signature.description import describe
from jaxscope.capture.compiles.signature.structures import static_fields
from jaxscope.capture.compiles.signature.values import ObjectIds
from jaxscope.capture.tree_paths import one_level_leaf

_MOST = 1000  # constants of one program: some milliseconds


class Compared(Enum):
    """The part of a constant that is compared with earlier programs of the cell."""

    VALUE = auto()
    CONTAINER = auto()
    """The class and the static fields: what is inside are constants or arguments themselves."""
    TEXT = auto()
    """A text of jaxscope's own, shown without quotes."""
    NOT = auto()
    """Nothing: it may have changed inside."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An input of a cell, or a part of one, that its program does not take as an argument."""

    path: str
    """As the user writes it: `config['depth']`."""
    value: Any
    compared: Compared = Compared.VALUE
    left_out: bool = False
    """The default value of a parameter that the call leaves out."""

    def described(self, ids: ObjectIds) -> Iterator[CapturedValue]:
        """Describe it, and each static field of a container by the field's own path."""
        match self.compared:
            case Compared.VALUE:
                yield _described(self.path, self.value, ids, left_out=self.left_out)
            case Compared.TEXT:
                yield CapturedValue(self.path, self.value, hash(self.value))
            case Compared.NOT:
                yield _unread(self.path)
            case Compared.CONTAINER:
                kind = type(self.value)
                part = StaticPart("", kind.__name__, ids.of(kind), PartKind.CLASS)
                yield CapturedValue(self.path, part.text, part.token, (part,))
                try:
                    fields = _fields(self.value)
                except Exception:  # the user's own flattening
                    yield _unread(self.path)
                    return
                for at, one in fields:
                    yield _described(self.path + at, one, ids, of_field=True)


def described(constants: Iterable[Constant], ids: ObjectIds) -> tuple[CapturedValue, ...]:
    """Describe all constants of a program, a bounded number of them."""
    every = itertools.chain.from_iterable(one.described(ids) for one in constants)
    found = list(itertools.islice(every, _MOST))
    return (*found, _unread("…")) if len(found) == _MOST else tuple(found)


def _described(path: str, value: Any, ids: ObjectIds, **more: bool) -> CapturedValue:
    text, token, parts = describe(value, ids, by_code=True)
    if hasattr(value, "shape") and not isinstance(value, np.generic):
        parts = (*parts, _UNREAD)  # an array is not read, and may have changed in place
    return CapturedValue(path, text, token, parts, type=type(value).__name__, **more)


_UNREAD = StaticPart("", "…", 0, PartKind.UNREAD)


def _unread(path: str) -> CapturedValue:
    return CapturedValue(path, _UNREAD.text, 0, (_UNREAD,))


def _fields(container: Any) -> list[tuple[str, Any]]:
    if type(container) in (list, tuple, dict):  # which may hold itself
        return []
    tree = jax.tree_util.tree_structure(container, is_leaf=one_level_leaf())
    kind, static = tree.node_data() or (dict, None)
    return [] if kind is dict or static is None else static_fields(container, kind, static)
