# An object that the function makes itself is counted on each call, as in Python.
# silent: trace_time_side_effect

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
class Layer:
    n = 0

    def apply(self, x):
        self.n += 1
        return x * self.n

@jax.jit
def f(x):
    layer = Layer()
    return layer.apply(layer.apply(x))

y = f(x)
