# Abstract classes, protocols and generics.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import abc
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, v: T): self.v = v
class Layer(abc.ABC):
    @abc.abstractmethod
    def apply(self, v): ...
class Twice(Layer):
    def apply(self, v): return v * 2
class Applies(Protocol):
    def apply(self, v): ...

def run(layer: Applies, box: Box): return layer.apply(box.v)

y = run(Twice(), Box(x))
del T, Box, Layer, Twice, Applies

# %% change
x = x + 1
