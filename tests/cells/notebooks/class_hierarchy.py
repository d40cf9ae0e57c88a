# Classes with properties, class methods, `super()` and operators are defined and used in one cell.

# %% setup
import abc
import jax, jax.numpy as jnp
x = jnp.arange(4.0)

# %% cell
class Layer(abc.ABC):
    made = 0

    def __init__(self, scale: float = 2.0) -> None:
        self.scale = scale
        type(self).made += 1

    @abc.abstractmethod
    def __call__(self, v): ...

    @property
    def name(self):
        return f"{type(self).__name__}({self.scale})"

    @classmethod
    def twice(cls):
        return cls(4.0)

    def __matmul__(self, other):
        return Chain(self, other)


class Scale(Layer):
    def __call__(self, v):
        return v * self.scale


class Chain(Layer):
    def __init__(self, *layers):
        super().__init__()
        self.layers = layers

    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v


model = Scale() @ Scale.twice()
y = model(x)
names = [layer.name for layer in model.layers]
Scale.made, Chain.made

# %% change
x = x + 1
