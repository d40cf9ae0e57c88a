# A method that compiled code calls counts traces; its object is older than the call.
# fires: trace_time_side_effect line 6

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
class Layer:
    n = 0

    def apply(self, x):
        self.n = self.n + 1
        return x * 2

layer = Layer()

@jax.jit
def f(x):
    return layer.apply(x)

y = f(x)
