# A generator that is made in the function, with a seed of the machine's.
# fires: trace_time_side_effect line 4

# %% setup
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    return x + np.random.default_rng().normal(size=8)

y = f(x)
