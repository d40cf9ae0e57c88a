"""Programs that make JAX compile again, each with the causes that should be named.

A case is a generator: what comes before its `yield` is there to be compared with, what comes after
is to be explained. `python tests/capture/compiles/cause_cases.py devices` prints the causes of the
cases that need several devices.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import json
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.ode import odeint

import jaxscope
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.model import CauseKind as K
from jaxscope.model import Compile


@dataclasses.dataclass(frozen=True)
class Case:
    run: Callable[[], Generator[None]]
    causes: tuple[tuple[K, str], ...]
    """Kind and path of the causes, in order; empty when nothing should compile."""
    says: str = ""
    """Words of the first cause's text."""


CASES: dict[str, Case] = {}
ON_DEVICES: dict[str, Case] = {}


def case(*causes: tuple[K, str], says: str = "", devices: bool = False):
    def add(run):
        (ON_DEVICES if devices else CASES)[run.__name__] = Case(run, causes, says)
        return run

    return add


def play(case: Case) -> tuple[list[Compile], list[Compile], Listener]:
    """What compiled before the `yield` of a case, and after it."""
    with Listener() as listener, collecting(listener) as run:
        steps = case.run()
        next(steps)
        before = len(run.raw)
        for _ in steps:
            pass
    made = list(run.compiles())
    split = sum(raw.compiled for raw in run.raw[:before])
    return made[:split], made[split:], listener


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def fresh() -> Any:
    """A jitted function that nobody has compiled."""

    def f(x):
        return x * 2 + 1

    return jax.jit(f)


# Arguments.


@case((K.SHAPE, "x"), says="The shape of `x` changed: f32[4] → f32[5] (axis 0).")
def new_shape():
    f = fresh()
    f(ones(4))
    yield
    f(ones(5))


@case((K.RANK, "x"), says="The rank of `x` changed: f32[4] → f32[4,1].")
def new_rank():
    f = fresh()
    f(ones(4))
    yield
    f(ones(4, 1))


@case((K.DTYPE, "x"), says="The dtype of `x` changed: f32[4] → i32[4].")
def new_dtype():
    f = fresh()
    f(ones(4))
    yield
    f(ones(4, dtype=np.int32))


@case((K.VALUE_KIND, "x"), says="The Python scalar type of `x` changed: float → int (f32 → i32).")
def python_int_against_float():
    f = fresh()
    f(1.0)
    yield
    f(1)


@case((K.DTYPE, "x"), says="→ i32[] (Python int)")
def array_against_python_int():
    f = fresh()
    f(jnp.float32(1))
    yield
    f(1)


@case((K.WEAK_TYPE, "x"), says="strongly typed f32: jax.Array → Python float.")
def weak_type_flip():
    f = fresh()
    f(jnp.float32(1))
    yield
    f(1.0)


@case((K.SHAPE, "x"), (K.DTYPE, "y"))
def several_at_once():
    f = jax.jit(lambda x, y: x.sum() + y.sum())
    f(ones(3), ones(3))
    yield
    f(ones(4), ones(3, dtype=np.int32))


@case((K.SHAPE, "x"))
def nearest_of_several():
    """JAX's own explainer compares with the setting's change, which was two calls ago."""
    f = jax.jit(lambda x: x @ x.T)
    f(ones(4, 4))
    with jax.default_matmul_precision("highest"):
        f(ones(4, 4))
    yield
    f(ones(5, 4))


# Static arguments.


@case((K.STATIC_VALUE, "n"), says="The static argument `n` changed: 2 → 3.")
def static_value():
    f = jax.jit(lambda x, n: x[:n], static_argnums=1)
    f(ones(4), 2)
    yield
    f(ones(4), 3)


@case((K.STATIC_VALUE, "lr"), says="0.1 → 0.05")
def learning_rate_as_static():
    f = jax.jit(lambda x, lr: x * lr, static_argnames="lr")
    f(ones(4), lr=0.1)
    yield
    f(ones(4), lr=0.05)


@case((K.STATIC_VALUE, "config.depth"), says="`config.depth` changed: 2 → 3.")
def static_dataclass():
    @dataclasses.dataclass(frozen=True)
    class Config:
        depth: int

    f = jax.jit(lambda x, config: x * config.depth, static_argnums=1)
    f(ones(4), Config(2))
    yield
    f(ones(4), Config(3))


@case((K.STATIC_IDENTITY, "config"), says="`Config` defines no `__eq__`")
def static_by_identity():
    class Config:
        depth = 2

    f = jax.jit(lambda x, config: x * config.depth, static_argnums=1)
    f(ones(4), Config())
    yield
    f(ones(4), Config())


@case((K.STATIC_IDENTITY, "act"))
def static_lambda():
    f = jax.jit(lambda x, act: act(x), static_argnums=1)
    f(ones(4), lambda v: v + 1)
    yield
    f(ones(4), lambda v: v + 1)


@case((K.STATIC_IDENTITY, "self"))
def static_self():
    class Model:
        @functools.partial(jax.jit, static_argnums=0)
        def step(self, x):
            return x + 1

    Model().step(ones(4))
    yield
    Model().step(ones(4))


@case()
def static_without_hash():
    f = jax.jit(lambda x, n: x, static_argnums=1)
    yield
    try:
        f(ones(4), [1])
    except ValueError:
        return
    raise AssertionError("A list is no static argument.")


@case((K.STATIC_VALUE, "spec"), says="'d',) → P")
def static_partition_spec():
    """JAX has one object for each value, so that its class has no `__eq__`."""
    f = jax.jit(lambda x, spec: x, static_argnums=1)
    f(ones(4), jax.P("d"))
    yield
    f(ones(4), jax.P("e"))


@case((K.STATIC_VALUE, "mode"), says="changed: (('a', 1),) → Ellipsis.")
def static_value_in_place_of_a_tuple():
    f = jax.jit(lambda x, mode: x, static_argnums=1)
    f(ones(4), (("a", 1),))
    yield
    f(ones(4), ...)


@case((K.STATIC_VALUE, "kind"), says="changed: Ellipsis → int32.")
def static_objects_of_two_classes():
    f = jax.jit(lambda x, kind: x, static_argnums=1)
    f(ones(4), ...)
    yield
    f(ones(4), np.int32)


@case((K.CALL_STYLE, "n"), says="was passed by position and is now passed by keyword")
def static_by_position_and_keyword():
    f = jax.jit(lambda x, n: x * n, static_argnames="n")
    f(ones(4), 2)
    yield
    f(ones(4), n=2)


@case((K.CALL_STYLE, "n"), says="`n` was left out and is now passed (2)")
def static_default_and_explicit():
    f = jax.jit(lambda x, n=2: x * n, static_argnames="n")
    f(ones(4))
    yield
    f(ones(4), n=2)


@case((K.CALL_STYLE, "n"), says="`n` was passed (1) and is now left out")
def static_default_after_another_value():
    f = jax.jit(lambda x, n=1: x * n, static_argnames="n")
    f(ones(4), n=1)
    f(ones(4), n=2)
    yield
    f(ones(4))


@case((K.CALL_STYLE, "y"))
def keyword_and_position():
    f = jax.jit(lambda x, y: x * y)
    f(ones(4), ones(4))
    yield
    f(ones(4), y=ones(4))


@case((K.CALL_STYLE, "y"), says="is now left out")
def traced_default_left_out():
    f = jax.jit(lambda x, y=1.0: x * y)
    f(ones(4), 1.0)
    yield
    f(ones(4))


# Containers.


@case((K.STRUCTURE, "params['b']"), says="(treedef) changed: `params['b']` was added.")
def pytree_new_key():
    f = jax.jit(lambda params: params["a"])
    f({"a": ones(2)})
    yield
    f({"a": ones(2), "b": ones(2)})


@case((K.STRUCTURE, "params['b']"), says="(treedef) changed: `params['b']` was removed.")
def pytree_key_gone():
    f = jax.jit(lambda params: params["a"])
    f({"a": ones(2), "b": ones(2)})
    yield
    f({"a": ones(2)})


@dataclasses.dataclass
class Params:
    w: Any
    act: str = "relu"


jax.tree_util.register_dataclass(Params, data_fields=["w"], meta_fields=["act"])


@case((K.STATIC_VALUE, "p.act"), (K.STRUCTURE, "p.w['b']"))
def a_leaf_and_a_static_field():
    f = jax.jit(lambda p: jax.tree.map(jnp.sum, p))
    f(Params({"a": ones(2), "b": ones(2)}))
    yield
    f(Params({"a": ones(2)}, "gelu"))


@case((K.STATIC_VALUE, "p.act"), (K.STRUCTURE, "p.w['a']"))
def a_leaf_in_place_of_none_and_a_static_field():
    f = jax.jit(lambda p: jax.tree.map(jnp.sum, p))
    f(Params({"a": None, "b": ones(2)}))
    yield
    f(Params({"a": ones(2), "b": ones(2)}, "gelu"))


@case((K.STRUCTURE, "x"), says="(treedef) of `x` changed: list → tuple.")
def pytree_list_and_tuple():
    f = jax.jit(lambda x: x[0])
    f([ones(2), ones(2)])
    yield
    f((ones(2), ones(2)))


@case((K.STRUCTURE, "x"), says="None → f32[2]")
def pytree_none_and_array():
    f = jax.jit(lambda x: 0 if x is None else x.sum())
    f(None)
    yield
    f(ones(2))


@case((K.STRUCTURE, "state['mu']"), says="`state['mu']` changed: None → f32[2]")
def pytree_none_inside():
    f = jax.jit(lambda state: 1 if state["mu"] is None else 2)
    f({"mu": None})
    yield
    f({"mu": ones(2)})


@case((K.STRUCTURE, "x[2]"))
def pytree_length():
    f = jax.jit(lambda x: x[0])
    f([ones(2)] * 2)
    yield
    f([ones(2)] * 3)


class Point:
    def __init__(self, x, tag):
        self.x, self.tag = x, tag


jax.tree_util.register_pytree_with_keys(
    Point,
    lambda p: (((jax.tree_util.GetAttrKey("x"), p.x),), p.tag),
    lambda tag, children: Point(children[0], tag),
)


@case((K.STATIC_VALUE, "p.tag"), says="The static field `p.tag` changed: 'a' → 'b'.")
def pytree_static_field():
    f = jax.jit(lambda p: p.x)
    f(Point(ones(2), "a"))
    yield
    f(Point(ones(2), "b"))


@case((K.SHAPE, "p.x"))
def pytree_leaf_by_its_path():
    f = jax.jit(lambda p: p.x)
    f(Point(ones(2), "a"))
    yield
    f(Point(ones(3), "a"))


@case((K.SHAPE, "params['layers'][1]['w']"))
def pytree_deep_leaf():
    f = jax.jit(lambda params: params["layers"][0]["w"])
    layers = [{"w": ones(2)}, {"w": ones(2)}]
    f({"layers": layers})
    yield
    f({"layers": [layers[0], {"w": ones(5)}]})


@case((K.STRUCTURE, "rest[1]"))
def more_starred_arguments():
    f = jax.jit(lambda x, *rest: x)
    f(ones(2), ones(2))
    yield
    f(ones(2), ones(2), ones(2))


# Functions.


@case((K.NEW_FUNCTION, "<lambda>"), (K.CLOSURE, "lr"), says="is a new function object; JAX caches")
def lambda_in_a_loop():
    def step(lr):
        return jax.jit(lambda x: x * lr)(ones(3))

    step(0.1)
    yield
    step(0.2)


@case((K.NEW_FUNCTION, "<lambda>"), (K.CLOSURE, "i"))
def lambda_with_a_default():
    def all_of(values):
        for i in values:
            jax.jit(lambda x, i=i: x * i)(ones(3))

    all_of([0])
    yield
    all_of([1])


@case((K.NEW_FUNCTION, "inner"))
def def_inside_a_function():
    def call(x):
        @jax.jit
        def inner(x):
            return x + 1

        return inner(x)

    call(ones(3))
    yield
    call(ones(3))


@case((K.NEW_FUNCTION, "inner"), (K.SHAPE, "x"))
def new_function_and_new_shape():
    def call(x):
        @jax.jit
        def inner(x):
            return x + 1

        return inner(x)

    call(ones(3))
    yield
    call(ones(4))


def defined(text: str, file: str, name: str = "f") -> Any:
    space: dict[str, Any] = {"jax": jax, "__name__": "__main__", "x": ones(3)}
    exec(compile(text, file, "exec"), space)
    return space[name]


@case((K.REDEFINED, "f"), says="was redefined with the same code")
def cell_run_again():
    text = "@jax.jit\ndef f(x):\n    return x - 1\n"
    defined(text, "<ipython-input-3-again>")(ones(3))
    yield
    defined(text, "<ipython-input-4-again>")(ones(3))


@case((K.REDEFINED, "f"), says="and `rate` and `scaled`, which it reads, changed.")
def what_it_reads_edited_in_its_cell():
    text = (
        "rate = {0}\ndef scaled(x):\n    return x * {1}\ndef inner(x):\n    return scaled(x)\n"
        "@jax.jit\ndef f(x):\n    return inner(x) - rate\n"
    )
    defined(text.format(1, 2), "<ipython-input-3-reads>")(ones(3))
    yield
    defined(text.format(3, 4), "<ipython-input-4-reads>")(ones(3))


@case((K.REDEFINED, "f"), says="The code of `f` changed.")
def cell_edited():
    defined("@jax.jit\ndef f(x):\n    return x - 1\n", "<ipython-input-3-edit>")(ones(3))
    yield
    defined("@jax.jit\ndef f(x):\n    return x - 2\n", "<ipython-input-4-edit>")(ones(3))


@case((K.REDEFINED, "f"), says="The code of `f` changed.")
def only_a_name_in_the_code_changed():
    text = "import jax.numpy as jnp\n@jax.jit\ndef f(x):\n    return jnp.{}(x)\n"
    defined(text.format("sin"), "<ipython-input-3-name>")(ones(3))
    yield
    defined(text.format("cos"), "<ipython-input-4-name>")(ones(3))


@case((K.NEW_FUNCTION, "<lambda>"), says="but is a second one.")
def the_same_lambda_on_two_lines():
    text = "f = jax.jit(lambda x: x - 19)\ng = jax.jit(lambda x: x - 19)\nf(x)\n"
    g = defined(text, "<ipython-input-3-lambdas>", name="g")
    yield
    g(ones(3))


@case((K.NEW_FUNCTION, "<lambda>"), says="but is a second one.")
def the_same_lambda_twice_on_one_line():
    text = "f = jax.jit(lambda x: x - 21); g = jax.jit(lambda x: x - 21); f(x)\n"
    g = defined(text, "<ipython-input-3-lambdas>", name="g")
    yield
    g(ones(3))


@case((K.REDEFINED, "<lambda>"), says="same code")
def lambda_of_a_cell_run_again():
    text = "f = jax.jit(lambda x: x - 17)\n"
    defined(text, "<ipython-input-3-lambda>")(ones(3))
    yield
    defined(text, "<ipython-input-4-lambda>")(ones(3))


@case((K.FUNCTION_COLLECTED, "inner"), says="was garbage-collected")
def function_collected():
    def make():
        def inner(x):
            return x + 3

        return jax.jit(inner)

    make()(ones(3))
    gc.collect()
    yield
    make()(ones(3))


@case((K.NEW_FUNCTION, "base"), (K.CLOSURE, "n"), says="functools.partial")
def partial_in_a_loop():
    def base(n, x):
        return x * n

    def call(n):
        return jax.jit(functools.partial(base, n))(ones(3))

    call(2)
    yield
    call(3)


@case((K.NEW_FUNCTION, "inner"), (K.CLOSURE, "rate"))
def array_in_a_closure_that_is_as_before():
    def make(rate):
        def inner(x):
            return x * rate

        return jax.jit(inner)

    kept = [make(jnp.float32(0.1)), make(jnp.float32(0.1))]
    kept[0](ones(3))
    yield
    kept[1](ones(3))


@case((K.NEW_FUNCTION, "base"), (K.CLOSURE, "n"))
def partial_of_a_function_with_a_default():
    def base(n, x, *, flag=True):
        return x * n if flag else x

    def call(n):
        return jax.jit(functools.partial(base, n, flag=False))(ones(3))

    call(2)
    yield
    call(3)


@case((K.NEW_FUNCTION, "inner"))
def default_of_an_argument_that_is_passed():
    def make(n):
        def inner(x, scale=n):
            return x * scale

        return jax.jit(inner)

    kept = [make(1), make(2)]
    kept[0](ones(3), 4)
    yield
    kept[1](ones(3), 4)


class Model:
    def step(self, x):
        return x + 5


@case((K.NEW_FUNCTION, "step"), says="is a new bound method")
def bound_method():
    model = Model()
    jax.jit(model.step)(ones(3))
    yield
    jax.jit(model.step)(ones(3))


class Adds:
    def __call__(self, x):
        return x + 6


@case((K.NEW_FUNCTION, "Adds"), says="The jitted callable is a new `Adds` object")
def callable_object():
    jax.jit(Adds())(ones(3))
    yield
    jax.jit(Adds())(ones(3))


@case(
    (K.NEW_FUNCTION, "loss"),
    says="`jax.grad(loss)` is a new function: each call of `jax.grad` returns one.",
)
def grad_of_a_new_function():
    def train(x):
        def loss(x):
            return (x * x).sum()

        return jax.jit(jax.grad(loss))(x)

    train(ones(3))
    yield
    train(ones(3))


@case((K.NEW_FUNCTION, "loss"), says="`jax.grad(loss)` is a new function")
def grad_of_one_function_anew():
    def loss(x):
        return (x * x).sum()

    def call():
        return jax.jit(jax.grad(loss))(ones(3))

    call()
    yield
    call()


@case((K.NEW_FUNCTION, "loss"), says="jax.vmap")
def vmap_of_one_function_anew():
    def loss(x):
        return (x * x).sum()

    def call():
        return jax.jit(jax.vmap(loss))(ones(3, 2))

    call()
    yield
    call()


@case()
def same_function_jitted_twice():
    def f(x):
        return x + 1

    jax.jit(f)(ones(3))
    yield
    jax.jit(f)(ones(3))


@case((K.FIRST_CALL, ""), says="`f`")
def exec_without_source():
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x - 9", space)
    yield
    jax.jit(space["f"])(ones(3))


# Placement, options, settings.


@case((K.COMMITTED, "x"), says="`x` was uncommitted and is now committed to cpu:0")
def committed_on_the_same_device():
    f = fresh()
    f(ones(3))
    yield
    f(jax.device_put(ones(3), jax.devices("cpu")[0]))


@case((K.COMMITTED, "params['a']"), says="(and 2 others)")
def many_leaves_committed():
    f = jax.jit(lambda params: params["a"])
    params = {name: ones(3) for name in "abc"}
    f(params)
    yield
    f(jax.device_put(params, jax.devices("cpu")[0]))


@case((K.LAYOUT, "x"), says="default → major_to_minor=(1, 0)")
def layout_change():
    from jax.experimental.layout import Format, Layout

    f = fresh()
    x = jax.device_put(ones(3, 4), jax.devices("cpu")[0])
    y = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), x.sharding))
    f(x)
    yield
    f(y)


@case((K.DONATION, "donate_argnums"))
def other_donation():
    def f(x):
        return x + 1

    jax.jit(f)(jnp.ones(3))
    yield
    jax.jit(f, donate_argnums=0)(jnp.ones(3))


@case((K.JIT_OPTION, "out_shardings"))
def out_shardings_option():
    def f(x):
        return x + 1

    jax.jit(f)(ones(3))
    yield
    jax.jit(f, out_shardings=jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0]))(ones(3))


@case((K.SHAPE, "x"))
def options_outside_the_key_and_another_shape():
    """With only these two changed JAX uses the program again."""

    def f(x):
        return x + 1

    jax.jit(f)(ones(3))
    yield
    jax.jit(f, inline=True, keep_unused=True)(ones(4))


@case((K.COMPILER_OPTION, "compiler_options"), says="xla_cpu_enable_fast_math=True")
def compiler_options():
    def f(x):
        return x + 1

    jax.jit(f)(ones(3))
    yield
    jax.jit(f, compiler_options={"xla_cpu_enable_fast_math": True})(ones(3))


@case((K.COMPILER_OPTION, "compiler_options"))
def compiler_options_of_a_stage():
    lowered = fresh().lower(ones(3))
    lowered.compile()
    yield
    lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})


@case((K.CONTEXT, "jax_enable_x64"), says="False → True")
def setting_x64():
    f = fresh()
    f(1.0)
    yield
    with jax.enable_x64(True):
        f(1.0)


@case((K.CONTEXT, "jax_enable_x64"), (K.VALUE_KIND, "n"))
def setting_x64_and_another_type():
    f = jax.jit(lambda x, n: x * n)
    f(1.0, 2)
    yield
    with jax.enable_x64(True):
        f(1.0, True)


@case((K.CONTEXT, "jax_default_matmul_precision"), says="None → highest")
def setting_matmul_precision():
    f = jax.jit(lambda x: x @ x)
    f(ones(3, 3))
    yield
    with jax.default_matmul_precision("highest"):
        f(ones(3, 3))


@case((K.CONTEXT, "jax_default_device"))
def setting_default_device():
    f = fresh()
    f(ones(3))
    yield
    with jax.default_device(jax.devices("cpu")[0]):
        f(ones(3))


@case((K.CONTEXT, "mesh"), says="The mesh in the trace context changed")
def setting_mesh():
    f = fresh()
    f(ones(3))
    yield
    with jax.set_mesh(jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))):
        f(ones(3))


@case()
def setting_debug_nans():
    f = fresh()
    f(ones(3))
    yield
    with jax.debug_nans(True):
        f(ones(3))


@case()
def setting_log_compiles():
    f = fresh()
    f(ones(3))
    yield
    with jax.log_compiles(False):
        f(ones(3))


@case((K.CACHE_CLEARED, "f"), says="JAX had dropped the earlier program")
def caches_cleared():
    f = fresh()
    f(ones(3))
    yield
    jax.clear_caches()
    f(ones(3))


@case((K.CACHE_CLEARED, "f"))
def cache_of_one_function_cleared():
    f = fresh()
    f(ones(3))
    yield
    f.clear_cache()
    f(ones(3))


@case((K.LINKED_AGAIN, ""), says="`f` had been compiled before")
def inspected_through_another_jit():
    inner = jax.jit(f := lambda x: x * 2 + len("inspected"))
    wrapped = functools.wraps(f)(lambda x: inner(x))
    wrapped.__name__ = f.__name__ = "f"
    wrapped(ones(3))
    yield
    jaxscope.inspect(wrapped, ones(3))


@case((K.FIRST_CALL, ""))
def inspected_after_its_gradient():
    jax.jit(jax.grad(f := lambda x: x * 2 + len("differentiated")))(1.0)
    yield
    jaxscope.inspect(f, 1.0)


@case((K.LINKED_AGAIN, ""))
def gradient_inspected_after_its_jit():
    gradient = jax.grad(lambda x: x * 2 + len("differentiated again"))
    jax.jit(gradient)(1.0)
    yield
    jaxscope.inspect(gradient, 1.0)


# Operations outside any jit.


@case((K.EAGER_OP, "asinh"))
def eager_first_operation():
    jax.clear_caches()
    yield
    jnp.asinh(ones(3))


@case(
    (K.EAGER_SHAPE, "x"),
    says="The arguments of the eager operation `acosh` changed: x f32[3] → f32[4].",
)
def eager_new_shape():
    jnp.acosh(ones(3))
    yield
    jnp.acosh(ones(4))


@case((K.EAGER_SHAPE, "slice_sizes"), says="(2,) → (3,)")
def eager_slices_that_grow():
    x = jnp.ones(10)
    x[:2].block_until_ready()
    yield
    x[:3].block_until_ready()


@case()
def eager_index():
    x = jnp.ones(10)
    x[2].block_until_ready()
    yield
    x[3].block_until_ready()


@case((K.EAGER_BODY, "jaxpr"), says="`scan` ran eagerly (outside any jit) with a new function: ")
def scan_with_a_new_lambda():
    def call():
        return lax.scan(lambda c, v: (c + v, c), 0.0, jnp.ones(4))

    call()
    yield
    call()


@case((K.EAGER_BODY, "jaxpr"))
def scan_with_another_constant():
    def call(k):
        return lax.scan(lambda c, v: (c + v * k, c), 0.0, jnp.ones(4))

    call(2.0)
    yield
    call(3.0)


@case((K.EAGER_BODY, "body_jaxpr"))
def while_loop_with_a_new_body():
    def positive(c):
        return c < 10.0

    def call():
        return lax.while_loop(positive, lambda c: c * 2.0, 1.0)

    call()
    yield
    call()


def accumulate(carry, value):
    return carry + value, carry


@case((K.EAGER_SHAPE, "length"), says="changed: length 4, f32[4] → 5, f32[5].")
def scan_of_another_length():
    lax.scan(accumulate, 0.0, ones(4))
    lax.scan(lambda carry, value: (value, carry), 0.0, ones(5))
    yield
    lax.scan(accumulate, 0.0, ones(5))


@case((K.EAGER_SHAPE, "while"), says="changed: jax.Array → Python float.")
def while_loop_from_a_python_number():
    def small(c):
        return c < 9.0

    def double(c):
        return c * 2.0

    lax.while_loop(small, double, jnp.float32(1))
    yield
    lax.while_loop(small, double, 1.0)


@case((K.CONTEXT, "jax_default_matmul_precision"))
def scan_with_another_precision():
    lax.scan(accumulate, 0.0, ones(6))
    yield
    with jax.default_matmul_precision("highest"):
        lax.scan(accumulate, 0.0, ones(6))


@case((K.CACHE_CLEARED, "scan"))
def scan_after_the_caches_were_cleared():
    lax.scan(accumulate, 0.0, ones(7))
    yield
    jax.clear_caches()
    lax.scan(accumulate, 0.0, ones(7))


@case((K.EAGER_BODY, "jaxpr"), says="with a new function: other at ")
def scan_of_another_function():
    def other(carry, value):
        return carry * value, carry

    lax.scan(accumulate, 0.0, ones(8))
    yield
    lax.scan(other, 1, ones(2, dtype=np.int32))


@case((K.EAGER_BODY, "jaxpr"), says="with a new function, which JAX creates in each call.")
def map_of_one_function():
    lax.map(jnp.sin, ones(4))
    yield
    lax.map(jnp.sin, ones(4))


@case((K.EAGER_BODY, "branches[0]"))
def cond_with_one_new_branch():
    def up(v):
        return v + 1.0

    def call():
        return lax.cond(jnp.bool_(True), up, lambda v: v - 1.0, 1.0)

    call()
    yield
    call()


@case((K.EAGER_BODY, "branches[0]"))
def cond_with_new_branches():
    def call():
        return lax.cond(jnp.bool_(True), lambda v: v + 1.0, lambda v: v - 1.0, 1.0)

    call()
    yield
    call()


@case((K.EAGER_BODY, "func"), says="ran eagerly (outside any jit) with a new function: ")
def solver_with_a_new_function():
    def call(rate):
        return odeint(lambda y, t: -rate * y, jnp.ones(2), jnp.linspace(0.0, 1.0, 3))

    call(2.0)
    yield
    call(3.0)


# Transforms, stages, threads.


@case((K.VMAP_SIZE, "x"), says="The batch size of `f` under vmap changed: `x` f32[3,4] → f32[5,4].")
def vmap_of_another_size():
    f = fresh()
    jax.vmap(f)(ones(3, 4))
    yield
    jax.vmap(f)(ones(5, 4))


@case((K.FIRST_CALL, ""), says="first compilation of `f` under vmap since")
def vmap_of_a_function_that_is_new():
    """Since jax 0.9 the function has been traced when its lowering is the first that is heard."""
    yield
    jax.vmap(fresh())(ones(3, 4))


@case((K.FIRST_CALL, ""), says="first compilation of `f` under jvp since")
def jvp_of_a_function_that_is_new():
    yield
    jax.jvp(fresh(), (ones(4),), (ones(4),))


@case((K.FIRST_CALL, ""))
def after_it_was_traced_inside_another():
    """No compile of its own came before, of this shape or another."""
    f = fresh()
    jax.jit(lambda x: f(x) + 1)(ones(4))
    yield
    f(ones(5))


@case((K.FIRST_CALL, ""))
def after_it_was_compiled_inside_another():
    f = fresh()
    jax.jit(lambda x: f(x) + 1)(ones(4))
    yield
    f(ones(4))


@case((K.FIRST_CALL, ""), says="first compilation of `f` under vmap since")
def vmap_after_the_plain_function():
    f = fresh()
    f(ones(3, 4))
    yield
    jax.vmap(f)(ones(3, 4))


@case((K.SHAPE, "x"))
def grad_of_a_jitted_function_of_another_shape():
    f = jax.jit(lambda x: (x * x).sum())
    jax.grad(f)(ones(3))
    yield
    jax.grad(f)(ones(4))


@case((K.EAGER_SHAPE, "x"), says="`sinh` changed: x f32[3] → f32[4].")
def eager_operations_under_a_gradient():
    def loss(x):
        return jnp.sinh(x).sum()

    jax.grad(loss)(ones(3))
    yield
    jax.grad(loss)(ones(4))


@case((K.FIRST_CALL, ""), says="under vmap∘grad since jaxscope started listening at")
def vmap_of_a_gradient():
    f = jax.jit(lambda x: (x * x).sum())
    f(ones(3))
    yield
    jax.vmap(jax.grad(f))(ones(2, 3))


@case()
def vmap_of_a_jitted_function_anew():
    f = fresh()
    jax.vmap(f)(ones(3, 4))
    yield
    jax.vmap(f)(ones(3, 4))


@case()
def grad_of_a_jitted_function_anew():
    f = jax.jit(lambda x: (x * x).sum())
    jax.grad(f)(ones(3))
    yield
    jax.grad(f)(ones(3))


@case((K.FIRST_CALL, ""))
def pmap_first():
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.pmap(lambda x: x + 1)(ones(1, 3))


@case((K.SHAPE, "x"))
def pmap_of_another_shape():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = jax.pmap(lambda x: x + 1)
        f(ones(1, 3))
        yield
        f(ones(1, 4))


@case()
def pmap_of_one_function_anew():
    def f(x):
        return x + 11

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.pmap(f)(ones(1, 3))
        yield
        jax.pmap(f)(ones(1, 3))


@case()
def stages_and_then_a_call():
    f = fresh()
    f.lower(ones(3)).compile()
    yield
    f(ones(3))


@case((K.FIRST_CALL, ""), says="It was traced before, but not compiled.")
def make_jaxpr_and_then_a_call():
    f = fresh()
    jax.make_jaxpr(f)(ones(3))
    f.trace(ones(3))
    yield
    f(ones(3))


@case((K.SHAPE, "x"))
def stages_of_another_shape():
    f = fresh()
    f.lower(ones(3)).compile()
    yield
    f.lower(ones(4)).compile()


@case()
def numpy_and_jax_arrays():
    f = fresh()
    x = jnp.ones(3)
    f(ones(3))
    yield
    f(x)


@case()
def numpy_float64():
    f = fresh()
    f(ones(3))
    yield
    f(np.ones(3))


@case()
def another_thread():
    f = fresh()
    f(ones(3))
    yield
    thread = threading.Thread(target=f, args=(ones(3),))
    thread.start()
    thread.join()


@case()
def donated_buffer_is_dead():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    f(x)
    yield
    f(jnp.ones(3))


@case()
def calls_with_a_callback():
    def f(x):
        jax.debug.callback(lambda v: None, x)
        return x + 1

    jitted = jax.jit(f)
    jitted(ones(3))
    yield
    jitted(ones(3))


@case((K.SHAPE, "arg0"), (K.SHAPE, "arg2"))
def jacobian_of_another_size():
    """The batch is of JAX's own: the user has none."""
    f = jax.jit(lambda x, w: (x * w).sum())
    jax.jacfwd(f)(ones(3), 2.0)
    yield
    jax.jacfwd(f)(ones(4), 2.0)


@case((K.STATIC_VALUE, "n"), says="The static argument `n` changed: 2 → 3.")
def pmap_with_another_static_value():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = jax.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)
        f(ones(1, 3), 2)
        yield
        f(ones(1, 3), 3)


@case((K.SHAPE, "x"))
def inner_jit_of_another_shape():
    inner = fresh()
    outer = jax.jit(lambda x: inner(x) + 1)
    outer(ones(3))
    yield
    outer(ones(4))


@case((K.FIRST_CALL, ""), says="failed with ZeroDivisionError")
def after_a_trace_that_failed():
    broken = [True]

    def f(x):
        if broken:
            raise ZeroDivisionError
        return x

    jitted = jax.jit(f)
    try:
        jitted(ones(3))
    except ZeroDivisionError:
        broken.clear()
    yield
    jitted(ones(3))


@case((K.SHAPE, "n"))
def recursion():
    @jax.jit
    def fact(n):
        return n if n.shape[0] <= 1 else fact(n[:-1]).sum() + n

    fact(ones(3))
    yield
    fact(ones(4))


# Several devices.


@case((K.DEVICE, "x"), says="cpu:0 → cpu:1", devices=True)
def another_device():
    f = fresh()
    f(jax.device_put(ones(4), jax.devices()[0]))
    yield
    f(jax.device_put(ones(4), jax.devices()[1]))


def mesh(kind: Any = None) -> Any:
    kind = kind or jax.sharding.AxisType.Auto
    return jax.make_mesh((4,), ("d",), axis_types=(kind,))


def put(x: Any, mesh: Any, *spec: Any) -> Any:
    return jax.device_put(x, jax.NamedSharding(mesh, jax.P(*spec)))


@case((K.SHARDING, "x"), says="P('d') over mesh d=4 → P() over mesh d=4", devices=True)
def another_sharding():
    f, on = fresh(), mesh()
    f(put(ones(4), on, "d"))
    yield
    f(put(ones(4), on))


@case((K.SHARDING, "x"), says="cpu:0 → P('d') over mesh d=4", devices=True)
def one_device_and_then_a_mesh():
    f = fresh()
    f(jax.device_put(ones(4), jax.devices()[0]))
    yield
    f(put(ones(4), mesh(), "d"))


@case((K.COMMITTED, "x"), says="committed to P('d') over mesh d=4", devices=True)
def numpy_and_then_a_mesh():
    f = fresh()
    f(ones(4))
    yield
    f(put(ones(4), mesh(), "d"))


@case((K.SHARDING, "x"), says="(explicit)", devices=True)
def explicit_axes():
    f = fresh()
    f(put(ones(4), mesh(), "d"))
    yield
    f(put(ones(4), mesh(jax.sharding.AxisType.Explicit), "d"))


@case((K.CONTEXT, "jax_default_device"), devices=True)
def default_device_and_where_its_arrays_are():
    f = fresh()
    f(jnp.ones(4))
    with jax.default_device(jax.devices()[1]):
        x = jnp.ones(4)
    yield
    with jax.default_device(jax.devices()[1]):
        f(x)


@case((K.JIT_OPTION, "in_shardings"), devices=True)
def in_shardings_option():
    def f(x):
        return x + 1

    sharding = jax.NamedSharding(mesh(), jax.P("d"))
    jax.jit(f)(ones(4))
    yield
    jax.jit(f, in_shardings=sharding)(ones(4))


@case((K.JIT_OPTION, "in_shardings"), devices=True)
def in_shardings_that_differ_in_a_late_argument():
    def f(*values):
        return sum(values)

    split, whole = jax.NamedSharding(mesh(), jax.P("d")), jax.NamedSharding(mesh(), jax.P())
    given = [ones(4)] * 8
    jax.jit(f, in_shardings=(*[split] * 7, whole))(*given)
    yield
    jax.jit(f, in_shardings=(*[split] * 8,))(*given)


@case((K.SHAPE, "x"), devices=True)
def pmap_on_devices():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = jax.pmap(lambda x: x + 1)
        f(ones(4, 3))
        yield
        f(ones(4, 5))


@case(
    (K.EAGER_SHAPE, ""),
    says="JAX sharded an input, f32[4,5], with its own `_multi_slice`; the previous one was "
    "f32[4,3].",
    devices=True,
)
def an_array_of_one_device_put_on_several():
    sharding = jax.NamedSharding(mesh(), jax.P("d"))
    jax.device_put(jnp.ones((4, 3)), sharding)
    yield
    jax.device_put(jnp.ones((4, 5)), sharding)


if __name__ == "__main__":
    shown = {}
    for name, one in (ON_DEVICES if "devices" in sys.argv else CASES).items():
        _, made, listener = play(one)
        shown[name] = {
            "causes": [[(c.kind, c.path, c.text, c.fix) for c in m.causes] for m in made],
            "kinds": [m.kind for m in made],
            "names": [m.fun_name for m in made],
            "notes": listener.notes,
        }
    print(json.dumps(shown))
