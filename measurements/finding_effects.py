"""Effects of what findings advise against: `python -m measurements.finding_effects`.

Each pair is a cell's function in the reported form and in the form of the fix. A rule must fire on
the first and be silent on the second, and both must agree. The effect is the shortest time, the
memory or the compile time of the first divided by that of the second, in turns in one process; for
wrong results it is a count.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROUNDS = 30
LEAST = 1.2
"""A smaller effect is not worth a finding."""
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """A form that a finding reports, and the form of its fix."""

    kind: str
    reported: Function
    fixed: Function
    arguments: tuple[Any, ...]


def _top(x: Any) -> Any:
    return jnp.sort(x)[-10:]


def _top_fixed(x: Any) -> Any:
    return jax.lax.top_k(x, 10)[0][::-1]


def _lookup(ids: Any, table: Any) -> Any:
    return jax.nn.one_hot(ids, table.shape[0]) @ table


def _lookup_fixed(ids: Any, table: Any) -> Any:
    return table[ids]


def _inverse(a: Any, b: Any) -> Any:
    return jnp.linalg.inv(a) @ b


def _inverse_fixed(a: Any, b: Any) -> Any:
    return jnp.linalg.solve(a, b)


def _map(w: Any, xs: Any) -> Any:
    return jax.lax.map(lambda x: jnp.tanh(w @ x), xs)


def _map_fixed(w: Any, xs: Any) -> Any:
    return jax.vmap(lambda x: jnp.tanh(w @ x))(xs)


def _promoted(h: Any, w: Any) -> Any:
    return jnp.tanh(h * np.float32(0.5)) @ w


def _promoted_fixed(h: Any, w: Any) -> Any:
    return jnp.tanh(h * 0.5) @ w


def _deep(x: Any, n: int = 60) -> Any:
    return x if n == 0 else jnp.sin(_deep(x, n - 1)) * 2 + 1


def _deep_fixed(x: Any) -> Any:
    return jax.lax.fori_loop(0, 60, lambda _, y: jnp.sin(y) * 2 + 1, x)


def _layer(_: Any, h: Any) -> Any:
    return jnp.sin(jnp.tanh(h @ h))


def _residuals(body: Function) -> Function:
    def loss(h: Any) -> Any:
        return jnp.mean(jax.lax.fori_loop(0, 12, body, h) ** 2)

    return jax.grad(loss)


def _picked(x: Any) -> Any:
    (picked,) = jnp.nonzero(x > 0, size=x.size, fill_value=x.size)
    return jnp.sum(jnp.take(x, picked, mode="fill", fill_value=0.0) ** 2)


def _picked_fixed(x: Any) -> Any:
    return jnp.sum(jnp.where(x > 0, x, 0.0) ** 2)


def _root(x: Any) -> Any:
    return jax.grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0)))(x)


def _root_fixed(x: Any) -> Any:
    def root(x: Any) -> Any:
        return jnp.sum(jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0))

    return jax.grad(root)(x)


def _softmax(x: Any) -> Any:
    e = jnp.exp(x)
    return e / jnp.sum(e)


def _softmax_fixed(x: Any) -> Any:
    return jax.nn.softmax(x)


def _noise(key: Any) -> Any:
    return jnp.stack([jax.random.normal(key, (1000,)), jax.random.normal(key, (1000,))])


def _noise_fixed(key: Any) -> Any:
    one, two = jax.random.split(key)
    return jnp.stack([jax.random.normal(one, (1000,)), jax.random.normal(two, (1000,))])


def pairs() -> tuple[Pair, ...]:
    """The pairs, with arrays of a size that a user has."""
    keys = jax.random.split(jax.random.key(0), 8)
    normal = jax.random.normal
    matrix = normal(keys[0], (400, 400)) + 40 * jnp.eye(400)
    table = normal(keys[1], (4000, 64))
    weights, rows = normal(keys[2], (512, 512)), normal(keys[3], (256, 512))
    narrow = normal(keys[4], (512, 512)).astype(jnp.bfloat16)
    x = jnp.arange(8.0)
    residual = jax.ShapeDtypeStruct((2048, 2048), "float32")
    return (
        Pair("full_sort", _top, _top_fixed, (normal(keys[5], (200_000,)),)),
        Pair("one_hot_matmul", _lookup, _lookup_fixed, (jnp.arange(256), table)),
        Pair("explicit_inverse", _inverse, _inverse_fixed, (matrix, matrix[0])),
        Pair("masked_reduction", _picked, _picked_fixed, (normal(keys[7], (200_000,)),)),
        Pair("sequential_map", _map, _map_fixed, (weights, rows)),
        Pair("type_promotion", _promoted, _promoted_fixed, (narrow, narrow)),
        Pair("unrolled_loop", _deep, _deep_fixed, (x,)),
        Pair(
            "saved_residuals", _residuals(_layer), _residuals(jax.checkpoint(_layer)), (residual,)
        ),
        Pair("nan_gradient", _root, _root_fixed, (x,)),
        Pair("exp_overflow", _softmax, _softmax_fixed, (20 * x,)),
        Pair("key_reuse", _noise, _noise_fixed, (keys[6],)),
    )


def measure() -> dict[str, Any]:
    """The effect of each kind, and whether the rule fires on the first form alone."""
    found: dict[str, Any] = {}
    for pair in pairs():
        fires = [_fires(pair.kind, f, pair.arguments) for f in (pair.reported, pair.fixed)]
        effect = _effect(pair)
        worth = effect.pop("worth_it", True)
        found[pair.kind] = {
            **effect,
            "fires_on_reported_form": fires[0],
            "fires_on_fixed_form": fires[1],
            "ok": worth and fires == [True, False],
        }
    found["missed_donation"] = _donation()
    found["sequential_map of calls"] = _calls()
    return found


def _fires(kind: str, function: Function, arguments: Sequence[Any]) -> bool:
    import jaxscope

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(jax.jit(function), *arguments)
    return any(finding.kind == kind for finding in report.findings)


def _effect(pair: Pair) -> dict[str, Any]:
    one, two = jax.jit(pair.reported), jax.jit(pair.fixed)
    match pair.kind:
        case "nan_gradient" | "exp_overflow":
            numbers = [int(jnp.isnan(f(*pair.arguments)).sum()) for f in (one, two)]
            return {"nan": numbers[0], "nan_when_fixed": numbers[1]}
        case "key_reuse":
            alike = [float(jnp.corrcoef(f(*pair.arguments))[0, 1]) for f in (one, two)]
            return {"correlation": alike[0], "correlation_when_fixed": alike[1]}
        case "type_promotion":
            # A CPU computes both in float32; the result of each keeps its type.
            bytes_ = [_memory(f, pair.arguments).output_size_in_bytes for f in (one, two)]
            return _worth("memory_of_result", bytes_)
        case "saved_residuals":
            bytes_ = [_memory(f, pair.arguments).temp_size_in_bytes for f in (one, two)]
            return _worth("memory", bytes_)
        case "unrolled_loop":
            seconds = [_compile_seconds(f, pair.arguments) for f in (pair.reported, pair.fixed)]
            return _worth("compile_time", seconds)
        case _:
            return _worth("time", _seconds(one, two, pair.arguments))


def _worth(what: str, figures: Sequence[float]) -> dict[str, Any]:
    ratio = figures[0] / figures[1]
    return {what: ratio, "at_least": LEAST, "worth_it": ratio >= LEAST}


def _seconds(one: Function, two: Function, arguments: Sequence[Any]) -> list[float]:
    """The shortest time of each: a busy machine slows both."""
    a, b = one(*arguments), two(*arguments)
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-4)
    shortest = [float("inf")] * 2
    for _ in range(ROUNDS):
        for index, function in enumerate((one, two)):
            began = time.perf_counter()
            jax.block_until_ready(function(*arguments))
            shortest[index] = min(shortest[index], time.perf_counter() - began)
    return shortest


def _memory(function: Any, arguments: Sequence[Any]) -> Any:
    return function.lower(*arguments).compile().memory_analysis()


def _compile_seconds(function: Function, arguments: Sequence[Any]) -> float:
    seconds: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        jax.jit(lambda *given: function(*given)).lower(*arguments).compile()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _donation() -> dict[str, Any]:
    """Bytes of a step that are not those of its arguments, without and with donation."""

    def update(w: Any, m: Any) -> Any:
        m = 0.9 * m + w
        return w - 0.1 * m, m

    w = jnp.ones((600, 600))
    sizes: list[int] = []
    for donated in ((), (0, 1)):
        plan = _memory(jax.jit(update, donate_argnums=donated), (w, w))
        new = plan.output_size_in_bytes - plan.alias_size_in_bytes
        sizes.append(plan.argument_size_in_bytes + plan.temp_size_in_bytes + new)
    effect = _worth("memory", sizes)
    return {"ok": effect.pop("worth_it"), **effect}


def _calls() -> dict[str, Any]:
    """One call per row against one call of the batch; tests hold the rule, which reads a cell."""

    def layer(w: Any, x: Any) -> Any:
        return jnp.tanh(w @ x)

    one, batch = jax.jit(layer), jax.jit(jax.vmap(layer, in_axes=(None, 0)))

    def calls(w: Any, xs: Any) -> Any:
        return jnp.stack([one(w, x) for x in xs])

    effect = _worth("time", _seconds(calls, batch, (jnp.ones((512, 512)), jnp.ones((256, 512)))))
    return {"ok": effect.pop("worth_it"), **effect}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
