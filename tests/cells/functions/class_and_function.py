# A function that uses a class of the same cell.

# %% setup
import dataclasses
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
@dataclasses.dataclass
class Affine:
    a: float
    b: float

    def __call__(self, v):
        return self.a * v + self.b

def f(v):
    return Affine(2.0, 1.0)(v)

y = f(x)

# %% change
x = x + 1
