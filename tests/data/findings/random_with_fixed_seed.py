# With a fixed seed the numbers are the same on every call without JAX, too.
# silent: trace_time_side_effect

# %% setup
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    rng = np.random.default_rng(0)
    return x + rng.normal(size=8)

y = f(x)
