# A counter of a method that the cell jits counts traces, not calls.
# fires: trace_time_side_effect line 7

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
class Layer:
    def __init__(self):
        self.calls = 0

    def apply(self, x):
        self.calls += 1
        return x * 2

layer = Layer()
step = jax.jit(layer.apply)
y = step(x)
z = step(x)
