# A counter of a function that the cell jits itself counts traces, not calls.
# fires: trace_time_side_effect line 3

# %% setup
import jax, jax.numpy as jnp
from types import SimpleNamespace
x = jnp.arange(3.0)
config = SimpleNamespace(n=1)

# %% cell
def f(x):
    config.n += 1
    return x * config.n

step = jax.jit(f)
y = step(x)
z = step(x)
