"""Compositions of transforms as data, and the level that each transform sees."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.forms.call import FunctionCall, PlainCall
from jaxscope.capture.options.composition import (
    JIT,
    Composition,
    GradMode,
    GradOptions,
    JitOptions,
    PmapOptions,
    Segment,
    VmapOptions,
)
from jaxscope.capture.options.settings import Settings, TransformError
from jaxscope.capture.transforms.shapes import Level
from jaxscope.capture.transforms.table import TRANSFORMS, entry_points_needed, levels
from jaxscope.capture.transforms.wrt import select

GRAD = Segment("grad", GradOptions(("w",)))
VMAP = Segment("vmap", VmapOptions((("x", 0),)))
PMAP = Segment("pmap", PmapOptions())


def level(**values: object) -> Level:
    return Level.outermost(PlainCall(FunctionCall(dict, (), values), Settings(), {}))


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([], "jit"),
        ([GRAD], "jit | grad -w w"),
        ([VMAP, GRAD], "jit | vmap -i x=0 | grad -w w"),
        ([Segment("jit", JitOptions()), VMAP], "jit | vmap -i x=0"),
        ([PMAP, VMAP], "pmap | vmap -i x=0"),
        ([VMAP, PMAP], "jit | vmap -i x=0 | pmap"),
    ],
)
def test_a_jit_is_put_around_what_does_not_compile(segments: list[Segment], expected: str) -> None:
    assert str(Composition.compiled(segments)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (GradOptions(), ("grad",)),
        (GradOptions(value=True), ("value_and_grad",)),
        (GradOptions(order=3), ("grad", "grad", "grad")),
        (GradOptions(mode=GradMode.JACFWD, order=2), ("jacfwd", "jacfwd")),
        (GradOptions(mode=GradMode.HESSIAN, value=True), ("hessian",)),
    ],
)
def test_titles_are_names_of_jax(options: GradOptions, expected: tuple[str, ...]) -> None:
    assert Composition((Segment("grad", options),)).titles == expected
    for name in expected:
        assert hasattr(jax, name)


def test_every_option_is_spelled_as_it_is_typed() -> None:
    options = GradOptions(("w", "b"), GradMode.JVP, 1, True, True, ("v", "u"), "", True)
    assert str(Composition((Segment("grad", options),))) == (
        "grad -w w,b --mode jvp --tangents v,u --value --has-aux --holomorphic"
    )
    vmap = VmapOptions((("x", 1), ("p['k']", None)), None, "i")
    assert str(Composition((Segment("vmap", vmap),))) == (
        "vmap -i x=1 -i p['k']=None --out-axes None --axis-name i"
    )
    assert str(Composition((Segment("pmap", PmapOptions(devices=4)),))) == "pmap --devices 4"


def test_the_properties_of_a_composition() -> None:
    assert JIT.is_plain
    assert not Composition.compiled([GRAD]).is_plain
    assert Composition((VMAP, GRAD)).differentiates
    assert not Composition((VMAP,)).differentiates
    assert Composition((GRAD, PMAP)).maps
    assert Composition((GRAD, PMAP)).has_pmap
    assert not Composition((GRAD,)).maps
    tangents = Segment("grad", GradOptions(mode=GradMode.JVP, tangents=("v",)))
    cotangent = Segment("grad", GradOptions(cotangent="c"))
    assert Composition((tangents, cotangent)).extra_names == ("v", "c")
    assert entry_points_needed(JIT) is None
    assert {entry_points_needed(Composition((s,))) for s in (GRAD, VMAP, PMAP)} == {1}
    assert set(TRANSFORMS) == {"jit", "grad", "vmap", "pmap"}


def test_each_map_takes_an_axis_away() -> None:
    x, w = np.ones((5, 4, 3), np.float32), np.ones((4, 3), np.float32)
    maps = Composition(
        (
            Segment("vmap", VmapOptions((("x", 0),))),
            Segment("vmap", VmapOptions((("x", -1), ("w", 1)))),
        )
    )
    seen = levels(maps, level(x=x, w=w, b=0.5))
    assert [s.shapes for s in seen] == [
        ((5, 4, 3), (4, 3), ()),
        ((4, 3), (4, 3), ()),
        ((4,), (4,), ()),
    ]
    shapes = jax.tree_util.tree_leaves(seen[-1].packed_shapes())
    assert [(s.shape, s.weak_type) for s in shapes] == [((4,), False), ((4,), False), ((), True)]


def test_scalars_stay_whole_by_default_and_the_rest_is_mapped() -> None:
    found = level(x=jnp.ones((3, 2)), p={"a": jnp.ones(3), "s": 1.0})
    assert found.axes((), "vmap") == (0, 0, None)
    assert found.axes((("p", None),), "vmap") == (0, None, None)
    assert found.axes((("x", 1),), "vmap") == (1, None, None)
    assert found.axes((("p", 0), ("p['s']", None)), "vmap") == (None, 0, None)


def test_a_selection_keeps_the_users_containers() -> None:
    found = level(p={"w": jnp.ones(2), "n": 3, "rows": [1.0, jnp.arange(2)]}, k=2)
    selection = select(found, ())
    assert selection.names == ("p",)
    assert selection.tree == {"w": 0, "n": None, "rows": [1, None]}
    assert selection.take(["a", "b", "c"]) == {"w": "a", "n": None, "rows": ["b", None]}
    assert selection.put(["a", "b", "c"], {"w": "A", "n": None, "rows": ["B", None]}) == [
        "B" if v == "b" else "A" if v == "a" else v for v in "abc"
    ]


def test_an_integer_leaf_is_named() -> None:
    with pytest.raises(TransformError, match=r"-w names `p`, and `p\['i'\]` is int32"):
        select(level(p={"w": jnp.ones(2), "i": jnp.arange(2)}), ("p",))
