# A method jitted with a static self that counts its calls counts traces.
# fires: trace_time_side_effect line 7

# %% setup
import jax, jax.numpy as jnp
from functools import partial

# %% cell --decorate
class Layer:
    calls = 0

    @partial(jax.jit, static_argnums=0)
    def __call__(self, x):
        self.calls += 1
        return x * 2

layer = Layer()
def run(x):
    return layer(x)
y = run(jnp.arange(3.0))
