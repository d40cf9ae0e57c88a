# float64 requested while it is disabled.
# fires: float64_disabled line 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    return x + jnp.zeros(3, dtype=jnp.float64)

y = f(x)
