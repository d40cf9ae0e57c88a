# The calls of a cell's own function: jaxscope traces it again, so the counter counts calls.
# silent: trace_time_side_effect

# %% setup
import jax.numpy as jnp
from types import SimpleNamespace
x = jnp.arange(3.0)
config = SimpleNamespace(n=1)

# %% cell
def f(x):
    config.n += 1
    return x * config.n

y = f(x)
z = f(x)
