"""Causes in programs of Flax, Equinox and Optax: the part that changed, by the user's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.model import CauseKind as K
from jaxscope.model import Compile

Program = Callable[[], Generator[None]]
V = np.ones(3, np.float32)


def recompiles(program: Program) -> list[Compile]:
    """What compiled after the `yield`, without single operations on the way to it."""
    with Listener() as listener, collecting(listener) as run:
        steps = program()
        next(steps)
        before = sum(raw.compiled for raw in run.raw)
        for _ in steps:
            pass
    return [one for one in run.compiles()[before:] if one.kind != "eager"]


def causes(program: Program) -> list[tuple[K, str, str, str]]:
    (made,) = recompiles(program)
    return [(one.kind, one.path, one.before, one.after) for one in made.causes]


def test_a_float_under_filter_jit_is_named_and_an_array_in_its_place_compiles_nothing() -> None:
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.Linear(3, 3, key=jax.random.key(0))

    def program(*rates: Any) -> Program:
        def steps() -> Generator[None]:
            @eqx.filter_jit
            def run(model: Any, x: Any, lr: Any) -> Any:
                return model(x) * lr

            run(model, V, rates[0])
            yield
            run(model, V, lr=rates[1])

        return steps

    (made,) = recompiles(program(0.1, 0.2))
    (cause,) = made.causes
    assert (made.fun_name, cause.kind) == ("run", K.STATIC_VALUE)
    assert cause.text == "`lr`, static because it is not an array, changed: 0.1 → 0.2."
    assert "`jnp.asarray(0.2)`" in cause.fix
    (cause,) = recompiles(program(2.0, 3))[0].causes
    assert "`jnp.asarray(3, jnp.float32)`" in cause.fix
    (cause,) = recompiles(program(3, jnp.float32(3)))[0].causes
    assert cause.text == "`lr` was static, as it was not an array (3), and is now f32[]."
    assert cause.fix == (
        "Pass an array for `lr` in every call, such as `jnp.asarray(3, jnp.float32)`."
    )
    (cause,) = recompiles(program(jnp.float32(3), 0.5))[0].causes
    assert cause.text == "`lr` was f32[] and is now static, as it is not an array (0.5)."
    assert recompiles(program(jnp.asarray(0.1), jnp.asarray(0.2))) == []


def test_a_leaf_that_becomes_an_array_beside_another_change_of_the_structure() -> None:
    eqx = pytest.importorskip("equinox")

    def steps() -> Generator[None]:
        @eqx.filter_jit
        def total(options: Any) -> Any:
            return sum(jax.tree.leaves(options))

        total({"a": 0.5, "b": 1, "c": 2})
        yield
        total({"a": jnp.ones(3), "b": [1], "c": 2})

    (made,) = recompiles(steps)
    assert [(one.kind, one.path) for one in made.causes] == [
        (K.STATIC_VALUE, "options['a']"),
        (K.STATIC_VALUE, "options['b']"),
    ]
    assert "StaticLeaf" not in str(made)


def test_equinox_calls_have_the_functions_and_arguments_of_the_user() -> None:
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.Linear(3, 3, key=jax.random.key(0))

    def shape() -> Generator[None]:
        run = eqx.filter_jit(lambda model, x: jax.vmap(model)(x))
        run(model, np.ones((2, 3), np.float32))
        yield
        run(model, np.ones((4, 3), np.float32))

    assert causes(shape) == [(K.SHAPE, "x", "f32[2,3]", "f32[4,3]")]

    def called() -> Generator[None]:
        run = eqx.filter_jit(model)
        run(V)
        yield
        run(np.ones(3, np.int32))

    assert causes(called) == [(K.DTYPE, "x", "f32[3]", "i32[3]")]

    def anew() -> Generator[None]:
        def make() -> Any:
            return eqx.filter_jit(lambda model, x: model(x))

        kept = [make(), make()]
        kept[0](model, V)
        yield
        kept[1](model, V)

    assert causes(anew) == [(K.NEW_FUNCTION, "<lambda>", "", causes(anew)[0][3])]


def test_the_donation_of_filter_jit_is_named() -> None:
    eqx = pytest.importorskip("equinox")

    def program(before: str, after: str) -> Program:
        def steps() -> Generator[None]:
            def move(model: Any, x: Any) -> Any:
                return model + x

            eqx.filter_jit(move, donate=before)(jnp.ones(3), jnp.ones(3))
            yield
            eqx.filter_jit(move, donate=after)(jnp.ones(3), jnp.ones(3))

        return steps

    for before, after in (("none", "all"), ("none", "all-except-first"), ("all", "none")):
        assert causes(program(before, after)) == [(K.DONATION, "donate", before, after)]
    assert recompiles(program("all", "warn")) == []  # the warning is of Python


def test_a_model_with_functions_as_leaves_is_committed_as_its_fix_says() -> None:
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(3, 3, 4, 1, key=jax.random.key(0))
    moved = eqx.filter_shard(model, jax.devices()[0])

    def steps() -> Generator[None]:
        run = eqx.filter_jit(lambda model, x: model(x))
        run(model, V)
        yield
        run(moved, V)

    (cause,) = recompiles(steps)[0].causes
    assert (cause.kind, "`eqx.filter_shard(model, device)`" in cause.fix) == (K.COMMITTED, True)


def test_a_static_field_of_an_equinox_module_is_named() -> None:
    eqx = pytest.importorskip("equinox")

    class Layer(eqx.Module):
        w: Any
        rate: float = eqx.field(static=True)
        name: str = eqx.field(static=True, default="a")

    def program() -> Generator[None]:
        run = jax.jit(lambda layers, x: layers[0].w * x * layers[0].rate)
        run([Layer(jnp.ones(3), 0.1)], V)
        yield
        run([Layer(jnp.ones(3), 0.2)], V)

    assert causes(program) == [(K.STATIC_VALUE, "layers[0].rate", "0.1", "0.2")]


def test_eval_of_an_nnx_model_is_named_and_alternating_compiles_nothing_more() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Net(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.linear = nnx.Linear(3, 3, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.dropout(self.linear(x))

    model = Net(nnx.Rngs(0))

    def program() -> Generator[None]:
        run = nnx.jit(lambda model, x: model(x))
        run(model, V)
        yield
        model.eval()
        run(model, V)
        model.train()
        run(model, V)
        model.eval()
        run(model, V)

    assert causes(program) == [(K.STATIC_VALUE, "model.dropout.deterministic", "False", "True")]


def test_a_replaced_nnx_optimizer_has_one_cause_for_its_structure() -> None:
    nnx, optax = pytest.importorskip("flax.nnx"), pytest.importorskip("optax")

    class Here(NamedTuple):
        """The state of an optimizer that keeps nothing."""

    class There(NamedTuple):
        """Another one."""

    states: list[type] = []
    keeping_nothing = optax.GradientTransformation(
        lambda params: states[-1](), lambda grads, state, params=None: (grads, state)
    )
    model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))

    def made(transformation: Any, state: type = Here) -> Any:
        states.append(state)
        return nnx.Optimizer(model, transformation, wrt=nnx.Param)

    def replaced(*optimizers: Any) -> Any:
        def steps() -> Generator[None]:
            run = nnx.jit(lambda opt, x: x * 2)
            run(optimizers[0], V)
            yield
            run(optimizers[1], V)

        (found,) = recompiles(steps)
        return [(one.kind, one.path) for one in found.causes]

    assert replaced(made(optax.adam(0.1)), made(optax.sgd(0.1))) == [
        (K.STATIC_IDENTITY, "opt.tx.init"),
        (K.STRUCTURE, "opt.opt_state[0].count"),
    ]
    # Without a leaf that came or went, the structure is all that differs.
    assert replaced(made(keeping_nothing), made(keeping_nothing, There)) == [
        (K.STRUCTURE, "opt.opt_state")
    ]


def test_nnx_variables_whose_metadata_has_a_different_order_are_no_change() -> None:
    """JAX finds them equal, although they print differently."""
    nnx = pytest.importorskip("flax.nnx")

    def model(*names: str) -> Any:
        made = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        for name in names:
            made.kernel.set_metadata(name, 1)
        return made

    def program() -> Generator[None]:
        run = nnx.jit(lambda model, x: model(x))
        run(model("first", "second"), V)
        yield
        run(model("second", "first"), np.ones((2, 3), np.float32))

    assert [kind for kind, *_ in causes(program)] == [K.RANK]


def test_a_train_state_with_a_new_optimizer_is_named_and_one_optimizer_compiles_nothing() -> None:
    nn = pytest.importorskip("flax.linen")
    train_state = pytest.importorskip("flax.training.train_state")
    optax = pytest.importorskip("optax")
    model = nn.Dense(3)
    params = model.init(jax.random.key(0), V)

    def program(*optimizers: Any) -> Program:
        def steps() -> Generator[None]:
            run = jax.jit(lambda state, x: state.apply_fn(state.params, x))
            states = [
                train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)
                for tx in optimizers
            ]
            run(states[0], V)
            yield
            run(states[1], V)

        return steps

    (made,) = recompiles(program(optax.adam(0.1), optax.adam(0.1)))
    (cause,) = made.causes
    assert (cause.kind, cause.path) == (K.STATIC_IDENTITY, "state.tx.init")
    assert (
        cause.text == "The static part `state.tx.init` is a different function object: `init_fn`."
    )
    assert cause.fix.startswith("Create `state.tx` once and reuse it")
    (made,) = recompiles(program(optax.sgd(0.1), optax.sgd(0.2)))
    (cause,) = made.causes
    assert (cause.kind, cause.before, cause.after) == (K.STATIC_VALUE, "-0.1", "-0.2")
    assert cause.path.startswith("state.tx.update")
    assert cause.path.endswith(".step_size")
    assert recompiles(program(*[optax.adam(0.1)] * 2)) == []


def test_a_wider_model_is_no_batch_to_pad() -> None:
    def layers(width: int) -> list[Any]:
        return [np.ones((3, width), np.float32), np.ones((width, 2), np.float32)]

    def program(width: int, rows: int) -> Program:
        def steps() -> Generator[None]:
            run = jax.jit(lambda params, x: x @ params[0] @ params[1])
            run(layers(4), np.ones((5, 3), np.float32))
            yield
            run(layers(width), np.ones((rows, 3), np.float32))

        return steps

    (made,) = recompiles(program(8, 5))
    assert [(one.kind, one.path) for one in made.causes] == [
        (K.SHAPE, "params[0]"),
        (K.SHAPE, "params[1]"),
    ]
    fix = "Keep to a few sizes of `params`, each a program of its own; pad and mask data."
    assert {one.fix for one in made.causes} == {fix}
    (made,) = recompiles(program(4, 2))
    assert [one.fix.partition(" to a few")[0] for one in made.causes] == ["Pad `x`"]


def test_what_a_static_function_changes_inside_itself_is_no_cause() -> None:
    """As `optax.cosine_decay_schedule`, whose first call makes a float of its `decay_steps`."""

    @partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["rate", "name"])
    @dataclasses.dataclass
    class State:
        w: Any
        rate: Any
        name: str = "a"

    def schedule() -> Callable[[Any], Any]:
        steps = 100

        def rate(count: Any) -> Any:
            nonlocal steps
            steps = float(steps)
            return count / steps

        return rate

    def program(name: str, *, renewed: bool = False) -> Generator[None]:
        run = jax.jit(lambda state, x: state.w - state.rate(x).sum())
        rate = schedule()
        run(State(V, rate), V)
        yield
        run(State(V, schedule() if renewed else rate, name), np.ones(2, np.float32))

    assert causes(lambda: program("a")) == [(K.SHAPE, "x", "f32[3]", "f32[2]")]
    named = (K.STATIC_VALUE, "state.name", "'a'", "'b'")
    assert named in causes(lambda: program("b"))
    assert len(causes(lambda: program("b"))) == 2
    assert (K.STATIC_IDENTITY, "state.rate", "rate", "rate") in causes(
        lambda: program("a", renewed=True)
    )


def test_an_optimizer_in_a_closure_is_followed_to_its_rate() -> None:
    optax = pytest.importorskip("optax")

    def program() -> Generator[None]:
        def make(lr: float) -> Any:
            tx = optax.sgd(lr)

            @jax.jit
            def step(p: Any, g: Any) -> Any:
                updates, _ = tx.update(g, tx.init(p), p)
                return optax.apply_updates(p, updates)

            return step

        first, second = make(0.1), make(0.2)
        first(V, V)
        yield
        second(V, V)

    function, rate = causes(program)
    assert function[0] is K.NEW_FUNCTION
    assert (rate[0], *rate[2:]) == (K.CLOSURE, "-0.1", "-0.2")
    assert rate[1].startswith("tx.update.")
    assert rate[1].endswith(".step_size")

    def fixed() -> Generator[None]:
        @jax.jit
        def step(p: Any, g: Any, lr: Any) -> Any:
            tx = optax.sgd(lr)
            updates, _ = tx.update(g, tx.init(p), p)
            return optax.apply_updates(p, updates)

        step(V, V, 0.1)
        yield
        step(V, V, 0.2)

    assert recompiles(fixed) == []
