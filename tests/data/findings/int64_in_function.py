# An integer type of 64 bits in a function.
# fires: float64_disabled line 4

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    return x + jnp.arange(8, dtype=jnp.int64)

y = f(x)
