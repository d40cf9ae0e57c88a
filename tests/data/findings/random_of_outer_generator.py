# A generator of another cell.
# fires: trace_time_side_effect line 4

# %% setup
import jax, jax.numpy as jnp, numpy as np
x, rng = jnp.arange(8.0), np.random.default_rng(0)

# %% cell --decorate
@jax.jit
def f(x):
    return x + rng.normal(size=8)

y = f(x)
