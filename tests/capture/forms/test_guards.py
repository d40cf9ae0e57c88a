from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxscope.capture.forms.guards import Guards, NotReusableError


class Kind(enum.Enum):
    LOW = 1.0


@dataclasses.dataclass(frozen=True)
class Config:
    rates: tuple[float, ...] = (1.0, 2.0)
    names: list[str] = dataclasses.field(default_factory=list)


class Layer(NamedTuple):
    weights: jax.Array


class Model:
    def __init__(self) -> None:
        self.layer = Layer(jnp.ones(3))

    def __call__(self, x: jax.Array) -> jax.Array:
        return x * self.layer.weights

    @property
    def size(self) -> int:
        return 3


config, model, optimizer = Config(), Model(), optax.sgd(0.1)
table = collections.OrderedDict(a=1.0)
arguments = argparse.Namespace(rate=0.5)


def _uses_config(x: Any) -> Any:
    return jnp.sin(x) * config.rates[0] * math.pi * Kind.LOW.value * np.float32(2)


def _uses_model(x: Any) -> Any:
    return jax.nn.relu(model(x)) * model.size * table["a"] * arguments.rate


def _uses_optimizer(x: Any) -> Any:
    return jax.lax.scan(lambda c, a: (c + a, a), optimizer.init(x), x)


@pytest.mark.parametrize("function", [_uses_config, _uses_model, _uses_optimizer])
def test_a_function_of_usual_values_is_reused(function: Callable[[Any], Any]) -> None:
    assert Guards(function, ()).hold()


@pytest.mark.parametrize(
    "value",
    [collections.ChainMap({}), {}.values(), iter([]), ValueError(1), {}.get],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value]])
def test_a_value_that_cannot_be_compared_is_read_again(
    value: object, wrap: Callable[[object], object]
) -> None:
    read = wrap(value)
    with pytest.raises(NotReusableError):
        Guards(lambda: read, ())


def test_a_changed_argument_of_the_command_line_is_read_again() -> None:
    guards = Guards(_uses_model, ())
    arguments.rate = 0.25
    assert not guards.hold()
