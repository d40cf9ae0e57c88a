"""Arguments of a call in short."""

from __future__ import annotations

import functools
import gc
import inspect
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture._jax import JaxCall
from jaxscope.capture.compiles.signature.reader import SignatureReader
from jaxscope.model import CompileKind


def read(fun, args, kwargs=None, argnums=(), argnames=(), reader=None):
    call = JaxCall(
        CompileKind.JIT,
        fun,
        args=args,
        kwargs=kwargs or {},
        static_argnums=argnums,
        static_argnames=argnames,
    )
    return (reader or SignatureReader()).read(call)


def texts(fun, args, kwargs=None, argnums=(), argnames=()):
    return read(fun, args, kwargs, argnums, argnames).texts()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones((4, 8), np.float32), "f32[4,8]"),
        (np.ones(2, np.complex64), "c64[2]"),
        (np.zeros(3, np.uint8), "u8[3]"),
        (np.zeros(3, bool), "bool[3]"),
        (np.zeros(3, np.float64), "f32[3]"),
        (np.float32(1), "f32[]"),
        (jnp.zeros((), jnp.bfloat16), "bf16[]"),
        (jax.random.key(0), "key<fry>[]"),
        (jax.ShapeDtypeStruct((2,), jnp.int32), "i32[2]"),
        (1.5, "float"),
        (True, "bool"),
        (3, "int"),
        (None, "None"),
        ("text", "str[]"),
        ({"a": np.ones(2, np.float32), "b": [np.ones(3, np.float32)]}, "2 leaves, 20 B"),
        ([], "0 leaves, 0 B"),
        ((np.ones(300, np.float32),), "1 leaf, 1.2 kB"),
    ],
)
def test_a_value_in_short(value, text):
    assert texts(lambda x: x, (value,)) == (f"x: {text}",)


@pytest.mark.parametrize(("kind", "said"), [("Explicit", " (explicit)"), ("Auto", "")])
def test_an_array_on_a_mesh_has_its_spec_and_the_kind_of_the_axes(kind, said):
    types = (getattr(jax.sharding.AxisType, kind),)
    mesh = jax.make_mesh((1,), ("d",), axis_types=types)
    place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    (argument,) = read(lambda x: x, (jax.device_put(np.ones(3), place),)).arguments
    assert argument.leaves[0].place == f"P('d') over mesh d=1{said}"
    same = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d", None))
    (argument,) = read(lambda x: x, (jax.device_put(np.ones((3, 2)), same),)).arguments
    assert argument.leaves[0].place == f"P('d') over mesh d=1{said}"  # JAX compiles once for both


def test_names_are_those_of_the_function():
    def f(a, b=2, *rest, c, **more):
        raise NotImplementedError

    found = texts(f, (1.0, 2, 3, 4), {"c": 5, "z": 6.0}, (1,), ("c",))
    assert found == ("a: float", "b=2", "rest[0]: int", "rest[1]: int", "c=5", "z: float")


def test_a_static_argument_counted_from_the_end():
    assert texts(lambda x, n: x, (1.0, "abc"), {}, (-1,)) == ("x: float", "n='abc'")


def test_what_has_no_names_is_numbered():
    assert texts(None, (1.0,)) == ("arg0: float",)
    assert texts(functools.partial(lambda a, b: a, 1), (2.0,)) == ("b: float",)


def test_a_broken_or_long_repr_does_no_harm():
    class Broken:
        def __eq__(self, other):
            raise RuntimeError("mine")

        def __hash__(self):
            raise RuntimeError("mine")

        def __repr__(self):
            raise RuntimeError("mine")

    assert texts(lambda x: x, (Broken(),), {}, (0,)) == ("x=Broken object",)
    (text,) = texts(lambda x: x, ("a" * 500,), {}, (0,))
    assert len(text) == len("x=") + 60
    assert text.endswith("…")


def test_leaves_and_containers_that_repeat_are_one_object():
    reader = SignatureReader()
    tree = {f"w{i}": np.ones(3, np.float32) for i in range(1000)}
    first = read(lambda t: t, (tree,), reader=reader)
    again = read(lambda t: t, ({k: v + 1 for k, v in tree.items()},), reader=reader)
    assert first.arguments[0].structure is again.arguments[0].structure
    assert len({id(leaf) for leaf in (*first.arguments[0].leaves, *again.arguments[0].leaves)}) == 1
    assert first.arguments[0].structure.paths[1] == "['w1']"
    assert first.context is again.context


def test_equal_values_have_one_token_and_objects_without_eq_have_their_own():
    class Plain:
        """Compares by identity."""

    reader = SignatureReader()

    def token(value):
        return read(lambda x: x, (value,), argnums=(0,), reader=reader).statics[0].token

    one, other = Plain(), Plain()
    assert token(one) == token(one) != token(other)
    assert token((1, "a")) == token((1, "a")) != token((1, "b"))
    assert token(-1) != token(-2)  # their hashes are equal
    assert token(1) != token(True)


def test_a_number_is_never_given_twice():
    reader = SignatureReader()

    class Plain:
        """May be referred to weakly."""

    numbers = set()
    for _ in range(50):
        value = Plain()
        numbers.add(reader.ids.of(value))
        del value
        gc.collect(0)
    assert len(numbers) == 50
    assert len(reader.ids) == 0
    assert not any(reader.ids.alive(number) for number in numbers)


def test_a_signature_keeps_nothing_of_the_users_alive():
    class Config:
        """Static, by identity."""

    def call(reader):
        weights, config = jnp.ones(5), Config()

        def f(tree, config):
            return weights

        signature = read(f, ({"w": weights}, config), argnums=(1,), reader=reader)
        return signature, [weakref.ref(thing) for thing in (weights, config, f)]

    signature, dead = call(SignatureReader())
    assert [value.text for value in signature.function.captured] == ["f32[5]"]
    gc.collect()
    assert [reference() for reference in dead] == [None, None, None]


def test_a_signature_says_which_parameters_have_a_default():
    def f(x, n=2, *, scale=1.0):
        raise NotImplementedError

    assert read(f, (1.0,)).parameters == ("n", "scale")
    assert list(inspect.signature(f).parameters) == ["x", "n", "scale"]
